"""A worker that holds real memory of a GPU, with nothing but Python and the driver.

HOLD_GB: GB of 10^9 bytes of a model that it copies to the GPU when it starts, context included. NOTES: a file to which
it writes what happens, as lines of JSON. A job takes `ms`, in which the GPU writes over that memory.
"""
import ctypes
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

WORKER = os.environ["RUNPOD_POD_ID"]
NOTES = os.environ["NOTES"]
# What a context takes of the GPU besides the model.
CONTEXT_GB = 0.7
BLOCK = 1 << 28
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
cuda.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
cuda.cuMemsetD8_v2.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t]
cuda.cuMemFree_v2.argtypes = [ctypes.c_uint64]
cuda.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]


def note(event, **rest):
    with open(NOTES, "a", encoding="utf-8") as file:
        file.write(json.dumps({"at": int(time.time() * 1000), "event": event, "worker": WORKER, **rest}) + "\n")


def checked(result, what):
    if result != 0:
        note("failed", what=what, code=result)
        sys.exit(f"{what} failed with {result}")


def load(size):
    """Copies a model of `size` bytes from the memory of the machine; returns its blocks on the GPU."""
    checked(cuda.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    checked(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    checked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    checked(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    model = (ctypes.c_ubyte * BLOCK)()
    ctypes.memset(model, 7, BLOCK)
    blocks = []
    for _ in range(size // BLOCK):
        block = ctypes.c_uint64()
        checked(cuda.cuMemAlloc_v2(ctypes.byref(block), BLOCK), "cuMemAlloc")
        checked(cuda.cuMemcpyHtoD_v2(block, model, BLOCK), "cuMemcpyHtoD")
        blocks.append(block)
    return blocks


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


def run(blocks, job):
    held.append(job["id"])
    note("take", job=job["id"])
    ends = time.monotonic() + (job["input"] or {}).get("ms", 100) / 1000
    while True:
        checked(cuda.cuMemsetD8_v2(blocks[0], 7, BLOCK), "cuMemsetD8")
        if time.monotonic() >= ends:
            break
        time.sleep(0.02)
    # A model that came back from sleep has what it had.
    byte = (ctypes.c_ubyte * 1)()
    for block in blocks:
        checked(cuda.cuMemcpyDtoH_v2(byte, block, 1), "cuMemcpyDtoH")
        if byte[0] != 7:
            checked(1, "the model's content")
    message = {"role": "assistant", "content": f"from {WORKER}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    output = {"id": job["id"], "object": "chat.completion", "created": 0, "model": "bench", "choices": choices}
    note("done", job=job["id"])
    url = os.environ["RUNPOD_WEBHOOK_POST_OUTPUT"].replace("$RUNPOD_POD_ID", WORKER).replace("$ID", job["id"])
    call(url + "&isStream=false", json.dumps({"output": output}).encode())
    held.remove(job["id"])


leaving = threading.Event()
ASLEEP = f"{NOTES}.{WORKER}.asleep"
copies = []


def fall_asleep(*_):
    """Moves the model to the memory of the machine, as engines do that can sleep."""
    for block in model:
        copy = (ctypes.c_ubyte * BLOCK)()
        checked(cuda.cuMemcpyDtoH_v2(copy, block, BLOCK), "cuMemcpyDtoH")
        checked(cuda.cuMemFree_v2(block), "cuMemFree")
        copies.append(copy)
    model.clear()
    open(ASLEEP, "w", encoding="utf-8").close()


def wake_up(*_):
    for copy in copies:
        block = ctypes.c_uint64()
        checked(cuda.cuMemAlloc_v2(ctypes.byref(block), BLOCK), "cuMemAlloc")
        checked(cuda.cuMemcpyHtoD_v2(block, copy, BLOCK), "cuMemcpyHtoD")
        model.append(block)
    copies.clear()
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
began = time.monotonic()
model = load(int((float(os.environ["HOLD_GB"]) - CONTEXT_GB) * 1e9))
note("loaded", ms=int(1000 * (time.monotonic() - began)))
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
        run(model, json.loads(text))
note("end")
