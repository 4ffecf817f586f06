"""A hundred connections at once to a real server: it accepts many of them in one turn of its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
import uvloop

from litellm_evenkeel.lean.bursts.connections import LISTENERS, accept_connections_together

if TYPE_CHECKING:
    from collections.abc import Callable

CLIENTS = 100


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def most_in_a_turn(listening: socket.socket) -> int:
    """Return how many of a hundred connections the server accepts in one turn of its event loop, at most."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    with contextlib.ExitStack() as clients:
        for _ in range(CLIENTS):
            clients.enter_context(contextlib.closing(socket.create_connection(listening.getsockname())))
        accepted, most = 0, 0
        while accepted < CLIENTS:
            await asyncio.sleep(0)
            now = len(server.server_state.connections)
            accepted, most = now, max(most, now - accepted)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        writer.close()
    server.should_exit = True
    await serving
    assert not any(running.is_serving() for running in server.servers)
    return most


@pytest.fixture
def accepted_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.setattr(uvicorn.Server, "main_loop", uvicorn.Server.main_loop)
    monkeypatch.setattr(uvicorn.Server, "capture_signals", lambda _: contextlib.nullcontext())

    def run(loop: Callable[[], asyncio.AbstractEventLoop]) -> int:
        listening = socket.create_server(("127.0.0.1", 0), backlog=2 * CLIENTS)
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(most_in_a_turn(listening))

    return run


def test_uvloop_accepts_one(accepted_in_a_turn: Callable[..., int]) -> None:
    assert accepted_in_a_turn(uvloop.new_event_loop) == 1


def test_more_listeners_accept_more(accepted_in_a_turn: Callable[..., int]) -> None:
    accept_connections_together()
    assert LISTENERS // 2 < accepted_in_a_turn(uvloop.new_event_loop) <= LISTENERS


def test_workers_share_the_listeners(accepted_in_a_turn: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("litellm_evenkeel.proxy_process.worker_count", lambda _environ: 4)
    accept_connections_together()
    assert 1 < accepted_in_a_turn(uvloop.new_event_loop) <= LISTENERS // 4


def test_a_server_without_more_descriptors_serves_with_what_it_has(
    accepted_in_a_turn: Callable[..., int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_more(_descriptor: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("litellm_evenkeel.lean.bursts.connections.os.dup", no_more)
    accept_connections_together()
    assert accepted_in_a_turn(uvloop.new_event_loop) == 1
    assert "Too many open files" in caplog.text


def test_asyncio_needs_no_more_listeners(accepted_in_a_turn: Callable[..., int]) -> None:
    accept_connections_together()
    assert accepted_in_a_turn(asyncio.new_event_loop) > LISTENERS
