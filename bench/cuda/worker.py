"""A worker that holds real memory of a GPU, with nothing but Python and what its model needs.

HOLD_GB: GB of 10^9 bytes of a model that it copies to the GPU when it starts, context included. MODEL: `driver_model`
or `torch_model`. NOTES: a file to which it writes what happens, as lines of JSON. A job takes `ms`, in which the GPU
writes over that memory.
"""
import importlib
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from notes import Notes

WORKER = os.environ["RUNPOD_POD_ID"]
NOTES = os.environ["NOTES"]
# What a context takes of the GPU besides the model.
CONTEXT_GB = 0.7


notes = Notes(worker=WORKER)
note, timed = notes.note, notes.timed


def call(url, body=None):
    headers = {"Authorization": os.environ["RUNPOD_AI_API_KEY"]}
    request = urllib.request.Request(url, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return answer.read()


held = []


def ping():
    url = os.environ["RUNPOD_WEBHOOK_PING"].replace("$RUNPOD_POD_ID", WORKER)
    while True:
        try:
            call(url + ("&" if "?" in url else "?") + urllib.parse.urlencode({"job_id": ",".join(held)}))
        except OSError:
            pass
        time.sleep(1)


def run(job):
    held.append(job["id"])
    note("take", job=job["id"])
    ends = time.monotonic() + (job["input"] or {}).get("ms", 100) / 1000
    while True:
        model.write()
        if time.monotonic() >= ends:
            break
        time.sleep(0.02)
    # A model that came back from sleep has what it had.
    if not model.is_whole():
        note("failed", what="the model's content")
        sys.exit(1)
    message = {"role": "assistant", "content": f"from {WORKER}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    output = {"id": job["id"], "object": "chat.completion", "created": 0, "model": "bench", "choices": choices}
    note("done", job=job["id"])
    url = os.environ["RUNPOD_WEBHOOK_POST_OUTPUT"].replace("$RUNPOD_POD_ID", WORKER).replace("$ID", job["id"])
    call(url + "&isStream=false", json.dumps({"output": output}).encode())
    held.remove(job["id"])


leaving = threading.Event()
ASLEEP = f"{NOTES}.{WORKER}.asleep"


def fall_asleep(*_):
    """Moves the model to the memory of the machine, as engines do that can sleep."""
    timed("asleep", model.to_host)
    open(ASLEEP, "w", encoding="utf-8").close()


def wake_up(*_):
    timed("awake", model.to_gpu)
    os.remove(ASLEEP)


def leave(*_):
    """Lets a job end; a poll that waits would only end with the grace."""
    leaving.set()
    if not held:
        note("end")
        os._exit(0)


signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGUSR1, fall_asleep)
signal.signal(signal.SIGUSR2, wake_up)
note("begin", part=os.environ.get("SLUICE_GPU_MEMORY_GB"))
module = timed("imported", lambda: importlib.import_module(os.environ["MODEL"]))
model = timed("loaded", lambda: module.Model(int((float(os.environ["HOLD_GB"]) - CONTEXT_GB) * 1e9)))
threading.Thread(target=ping, daemon=True).start()
take = os.environ["RUNPOD_WEBHOOK_GET_JOB"].replace("$ID", WORKER)
while not leaving.is_set():
    try:
        text = call(take + "&job_in_progress=0")
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            break
        continue
    except OSError:
        continue
    if text:
        run(json.loads(text))
note("end")
