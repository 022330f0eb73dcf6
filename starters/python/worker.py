"""Runs a handler: with RunPod's SDK where it is installed, else with the standard library alone."""

import inspect
import json
import os
import threading
import time
import traceback
import urllib.error
import urllib.request

try:
    import runpod
except ImportError:
    runpod = None

_held = set()


def start(handler):
    """Takes jobs and runs them one after another, without end."""
    if runpod:
        runpod.serverless.start({"handler": handler})
        return
    if "RUNPOD_WEBHOOK_GET_JOB" not in os.environ:
        raise SystemExit("Start it with 'sluice dev .', or with the variables of 'sluice worker-env'.")
    threading.Thread(target=_ping, daemon=True).start()
    while True:
        address = _address("RUNPOD_WEBHOOK_GET_JOB", os.environ["RUNPOD_POD_ID"])
        status, text = _call(f"{address}&job_in_progress=0", timeout=90)
        if status == 200:
            _run(handler, json.loads(text))
        elif status != 204:
            time.sleep(1)


def progress(job, value):
    """Sets the output of a job that still runs."""
    if runpod:
        runpod.serverless.progress_update(job, value)
    else:
        _post("RUNPOD_WEBHOOK_POST_OUTPUT", job, {"status": "IN_PROGRESS", "output": value})


def _run(handler, job):
    _held.add(job["id"])
    is_stream = False
    try:
        output = handler(job)
        is_stream = inspect.isgenerator(output)
        if is_stream:
            for chunk in output:
                _post("RUNPOD_WEBHOOK_POST_STREAM", job, {"output": chunk})
            output = []
        result = {"output": output}
    except Exception as error:
        record = {
            "error_type": type(error).__name__,
            "error_message": str(error),
            "error_traceback": traceback.format_exc(),
        }
        result = {"error": json.dumps(record)}
    _post("RUNPOD_WEBHOOK_POST_OUTPUT", job, result, is_stream)
    _held.discard(job["id"])


def _ping():
    """Names the job that runs: the service would give it to another worker otherwise."""
    while True:
        jobs = ",".join(_held)
        address = _address("RUNPOD_WEBHOOK_PING", None)
        _call(address + ("&" if "?" in address else "?") + (f"job_id={jobs}" if jobs else ""))
        time.sleep(int(os.environ.get("RUNPOD_PING_INTERVAL", "10000")) / 1000)


def _post(variable, job, body, is_stream=False):
    """Repeated while the service cannot be reached."""
    address = f"{_address(variable, job['id'])}&isStream={'true' if is_stream else 'false'}"
    for pause in (2, 3, 5, 0):
        status, _ = _call(address, json.dumps(body).encode())
        if status is not None and status < 500:
            return
        time.sleep(pause)


def _address(variable, id):
    worker = os.environ["RUNPOD_POD_ID"]
    address = os.environ[variable].replace("$RUNPOD_POD_ID", worker)
    return address.replace("$ID", id) if id else address


def _call(address, body=None, timeout=60):
    """Status and body; the status is None without an answer."""
    headers = {"Authorization": os.environ["RUNPOD_AI_API_KEY"]}
    request = urllib.request.Request(address, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return None, b""
