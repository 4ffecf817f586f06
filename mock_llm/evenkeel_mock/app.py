"""The mock's HTTP surface, on Granian's RSGI."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

import orjson

from evenkeel_mock.completion import BadRequest, ChatRequest, chunks, completion, error

if TYPE_CHECKING:
    from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined]  # its stub forgets to export it

JSON = ("content-type", "application/json")
SSE = ("content-type", "text/event-stream")
RECEIVED, SENT = "x-mock-received-ns", "x-mock-sent-ns"
MODELS = ("gpt-4o-mini", "gpt-4o")


class App:
    """Answers after a fixed time to first token, one chunk after another at a fixed gap."""

    def __init__(self, first_token_ms: float, gap_ms: float) -> None:
        self._first_token = first_token_ms / 1000
        self._gap = gap_ms / 1000
        # LiteLLM keeps its request log by these: no two mocks may give the same.
        self._prefix = f"{time.time_ns():x}"
        self._numbers = itertools.count(1)

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Serve one request."""
        received = str(time.time_ns())
        if scope.path == "/v1/chat/completions" and scope.method == "POST":
            await self._chat(await protocol(), protocol, received)
        elif scope.path == "/v1/models":
            listed = [{"id": name, "object": "model", "owned_by": "evenkeel-mock"} for name in MODELS]
            protocol.response_bytes(200, [JSON], orjson.dumps({"object": "list", "data": listed}))
        elif scope.path == "/_mock/health":
            protocol.response_bytes(200, [JSON], b'{"ok":true}')
        else:
            protocol.response_bytes(404, [JSON], error(f"Unknown path {scope.path}", "invalid_request_error"))

    async def _chat(self, body: bytes, protocol: HTTPProtocol, received: str) -> None:
        try:
            request = ChatRequest.parse(body)
        except BadRequest as refusal:
            protocol.response_bytes(400, [JSON], error(str(refusal), "invalid_request_error"))
            return
        identity = f"{self._prefix}{next(self._numbers):x}"
        if self._first_token:
            await asyncio.sleep(self._first_token)
        times = [(RECEIVED, received), (SENT, str(time.time_ns()))]
        if not request.stream:
            protocol.response_bytes(200, [JSON, *times], completion(request, identity))
            return
        transport = protocol.response_stream(200, [SSE, *times])
        for chunk in chunks(request, identity):
            await transport.send_bytes(chunk)
            if self._gap:
                await asyncio.sleep(self._gap)
