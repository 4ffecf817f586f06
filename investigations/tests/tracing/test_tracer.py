"""The recorder inside a proxy: what it records of a request, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.stack.probes.traces_of_proxy import AUTHENTICATION, DATABASE, Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

CHAT, OTHER_PATH = "/v1/chat/completions", "/metrics"
ENGINE, AUTH = "prisma.engine.http", "litellm.proxy.auth.user_api_key_auth"


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A small LiteLLM: authentication that asks the database, and an application."""

    class HTTPEngine:
        async def request(self) -> str:
            await asyncio.sleep(0.002)
            return "row"

    async def authenticate() -> str:
        return await HTTPEngine().request()

    engine, auth = ModuleType(ENGINE), ModuleType(AUTH)
    engine.HTTPEngine, auth._user_api_key_auth_builder = HTTPEngine, authenticate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, ENGINE, engine)
    monkeypatch.setitem(sys.modules, AUTH, auth)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        del scope, receive
        send(await auth._user_api_key_auth_builder())  # type: ignore[attr-defined]

    return SimpleNamespace(server=SimpleNamespace(config=SimpleNamespace(loaded_app=app)), engine=HTTPEngine, auth=auth)


async def serve(litellm: SimpleNamespace, path: str, send: Callable[[str], None], kind: str = "http") -> None:
    await litellm.server.config.loaded_app({"type": kind, "path": path}, None, send)


async def test_a_request_has_spans_of_its_own(litellm: SimpleNamespace) -> None:
    tracer, sent = Tracer(litellm.server), []
    await asyncio.gather(
        *(serve(litellm, CHAT, sent.append) for _ in range(3)), serve(litellm, OTHER_PATH, sent.append)
    )
    requests = tracer.end()["requests"]
    assert sent == ["row"] * 4
    assert len(requests) == 3
    for _, duration, spans in requests:
        assert [part for part, _, _ in spans] == [DATABASE, AUTHENTICATION]
        assert all(0 <= first <= last <= duration for _, first, last in spans)


async def test_nothing_is_left_behind(litellm: SimpleNamespace) -> None:
    before = (litellm.server.config.loaded_app, litellm.engine.request, litellm.auth._user_api_key_auth_builder)
    tracer = Tracer(litellm.server)
    assert litellm.server.config.loaded_app is not before[0]
    tracer.end()
    assert before == (
        litellm.server.config.loaded_app,
        litellm.engine.request,
        litellm.auth._user_api_key_auth_builder,
    )


async def test_an_error_passes_through(litellm: SimpleNamespace) -> None:
    async def fail(_: object) -> str:
        raise ConnectionError("no database")

    litellm.engine.request = fail
    tracer = Tracer(litellm.server)
    with pytest.raises(ConnectionError, match="no database"):
        await serve(litellm, CHAT, print)
    assert tracer.end()["requests"] == []
