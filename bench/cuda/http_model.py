"""`http_model.py vllm|comfyui PORT`: a server that holds real memory of a GPU, and knows nothing of Sluice.

It has the routes of vLLM, or of ComfyUI, that their presets use, and moves its model as they do: vLLM to page-locked
memory of the machine; ComfyUI frees it some time after it answered, and loads it again for the next prompt. HOLD_GB and
WEIGHTS are as for worker.py. NOTES: a file to which it writes what happens, as lines of JSON.
"""
import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import torch
from notes import Notes
from torch_model import Model

SHAPE, PORT = sys.argv[1], int(sys.argv[2])
SIZE = int(float(os.environ["HOLD_GB"]) * 1e9)
TOKENS = 20
TOKEN_S = 0.02
PROMPT_S = 1
# ComfyUI looks at the flags that /free sets when it has nothing to do.
FREE_AFTER_S = 0.5


notes = Notes(server=SHAPE)
note, timed = notes.note, notes.timed


def compute(seconds):
    """Uses the model on the GPU, which must be whole after each sleep."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        model.write()
        time.sleep(0.01)


def check():
    if not model.is_whole():
        note("failed", what="the model's content")
        os._exit(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value=None, kind="application/json"):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_route(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "{}")
        path = urlsplit(self.path).path
        route = self.routes.get(f"{self.command} {path}") or self.routes.get(f"{self.command} {path.rsplit('/', 1)[0]}/*")
        if route is None:
            return self.answer(404, {"error": f"no route {self.path}"})
        return route(self, body)

    do_GET = do_POST = handle_route


class Vllm(Handler):
    sleeping = False
    lock = threading.Lock()

    def chat(self, body):
        if Vllm.sleeping:
            note("failed", what="a chat while it slept")
            return self.answer(500, {"error": {"message": "asleep"}})
        check()
        if not body.get("stream"):
            compute(TOKENS * TOKEN_S)
            message = {"role": "assistant", "content": "".join(f"{count} " for count in range(TOKENS))}
            return self.answer(200, {"id": "c", "object": "chat.completion", "created": 0, "model": "bench",
                                     "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for count in range(TOKENS):
            compute(TOKEN_S)
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "bench",
                     "choices": [{"index": 0, "delta": {"content": f"{count} "}, "finish_reason": None}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def sleep(self, _):
        with Vllm.lock:
            if not Vllm.sleeping:
                timed("asleep", model.to_host)
            Vllm.sleeping = True
        self.answer(200, {})

    def wake_up(self, _):
        with Vllm.lock:
            if Vllm.sleeping:
                timed("awake", model.to_gpu)
            Vllm.sleeping = False
        self.answer(200, {})

    routes = {
        "GET /health": lambda self, _: self.answer(200, {}),
        "GET /is_sleeping": lambda self, _: self.answer(200, {"is_sleeping": Vllm.sleeping}),
        "POST /v1/chat/completions": chat,
        "POST /sleep": sleep,
        "POST /wake_up": wake_up,
    }


class ComfyUi(Handler):
    history = {}
    waiting = []
    changed = threading.Condition()
    is_free_asked = False

    def prompt(self, body):
        prompt_id = body.get("prompt_id") or str(uuid.uuid4())
        with ComfyUi.changed:
            ComfyUi.waiting.append(prompt_id)
            ComfyUi.changed.notify()
        self.answer(200, {"prompt_id": prompt_id, "number": 1, "node_errors": {}})

    def free(self, _):
        with ComfyUi.changed:
            ComfyUi.is_free_asked = True
            ComfyUi.changed.notify()
        self.answer(200, {})

    def one_history(self, _):
        prompt_id = self.path.rsplit("/", 1)[1]
        self.answer(200, {prompt_id: ComfyUi.history[prompt_id]} if prompt_id in ComfyUi.history else {})

    def stats(self, _):
        self.answer(200, {"devices": [{"name": "cuda:0", "torch_vram_total": torch.cuda.memory_reserved()}]})

    def queue(self, _):
        self.answer(200, {"queue_running": [[0, each] for each in list(ComfyUi.waiting)], "queue_pending": []})

    routes = {
        "GET /system_stats": stats,
        "GET /queue": queue,
        "GET /history/*": one_history,
        "GET /view": lambda self, _: self.answer(200, b"\x89PNG picture", "image/png"),
        "POST /prompt": prompt,
        "POST /free": free,
        "POST /history": lambda self, _: self.answer(200, {}),
    }


def load():
    global model
    model = Model(SIZE)


def unload():
    global model
    model = None
    torch.cuda.empty_cache()


def run_prompts():
    """ComfyUI's one thread: prompts in turn, and between them the memory that it is asked to free."""
    while True:
        with ComfyUi.changed:
            ComfyUi.changed.wait_for(lambda: ComfyUi.waiting or ComfyUi.is_free_asked)
            prompt_id = ComfyUi.waiting[0] if ComfyUi.waiting else None
        if prompt_id is None:
            time.sleep(FREE_AFTER_S)
            timed("asleep", unload)
            ComfyUi.is_free_asked = False
            continue
        if model is None:
            timed("awake", load)
        check()
        compute(PROMPT_S)
        files = [{"filename": f"{prompt_id}.png", "subfolder": "", "type": "output"}]
        status = {"status_str": "success", "completed": True, "messages": []}
        with ComfyUi.changed:
            ComfyUi.history[prompt_id] = {"outputs": {"9": {"images": files}}, "status": status}
            ComfyUi.waiting.remove(prompt_id)


note("begin")
model = None
if SHAPE == "vllm":
    timed("loaded", load)
    # Page-locked memory is slow to get: at the start it costs no swap.
    timed("pinned", model.pin)
else:
    # It loads its models for the first prompt.
    torch.cuda.init()
    threading.Thread(target=run_prompts, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", PORT), Vllm if SHAPE == "vllm" else ComfyUi).serve_forever()
