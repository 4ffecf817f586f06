"""Reference for the mock provider: the same answers from FastAPI on uvicorn.

`python -m evenkeel_lab.bench.mock.reference PORT`
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WORDS = ("steady", " as", " she", " goes", " on", " an", " even", " keel")
app = FastAPI()


class Message(BaseModel):
    """One message of a request."""

    role: str
    content: str


class ChatRequest(BaseModel):
    """The fields of a request that the reference uses."""

    model: str
    messages: list[Message]
    stream: bool = False
    max_tokens: int = len(WORDS)
    gap_ms: float = 0


@app.get("/_mock/health")
async def health() -> dict[str, bool]:
    """Return that the server is up."""
    return {"ok": True}


@app.post("/v1/chat/completions", response_model=None)
async def chat(request: ChatRequest) -> dict[str, object] | StreamingResponse:
    """Answer like a chat model."""
    if request.stream:
        return StreamingResponse(events(request), media_type="text/event-stream")
    prompt = sum(len(message.content) for message in request.messages) // 4
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "".join(WORDS)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": prompt + 8},
    }


async def events(request: ChatRequest) -> AsyncIterator[str]:
    """Send one chunk after another."""
    for number in range(request.max_tokens):
        delta = {"content": WORDS[number % len(WORDS)]}
        chunk = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": request.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        yield f"data: {json.dumps(chunk)}\n\n"
        await asyncio.sleep(request.gap_ms / 1000)
    yield "data: [DONE]\n\n"


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False, backlog=4096)
