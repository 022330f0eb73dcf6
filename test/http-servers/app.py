"""An app as people write them with FastAPI: files by a form, a stream of events, a picture."""
import asyncio
import hashlib
import json

from fastapi import FastAPI, File, Form, HTTPException, Request, UploadFile
from fastapi.responses import Response, StreamingResponse

app = FastAPI()
streams = {"open": 0, "left": 0}


@app.get("/health")
def health():
    return streams


@app.post("/measure")
async def measure(label: str = Form(...), file: UploadFile = File(...)):
    content = await file.read()
    return {
        "label": label,
        "name": file.filename,
        "type": file.content_type,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


@app.post("/tokens")
async def tokens(request: Request):
    asked = await request.json()

    async def events():
        streams["open"] += 1
        try:
            for number in range(asked["count"]):
                yield f"data: {json.dumps({'token': f'é{number}'})}\n\n"
            if asked.get("hold"):
                await asyncio.sleep(3600)
            if asked.get("fail"):
                yield 'data: {"error": {"message": "out of memory"}}\n\n'
            yield "data: [DONE]\n\n"
        finally:
            streams["left"] += 1

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/picture")
def picture(size: int):
    if size > 45 * 2**20:
        raise HTTPException(status_code=413, detail="too large a picture")
    return Response(b"\x89PNG" + bytes(size - 4), media_type="image/png")
