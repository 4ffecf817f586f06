"""Record for each request of a proxy when it waited for what: authentication, Redis, the database, the provider.

A span begins when a function is called and ends when it returns. So it includes the time in which the function could
go on but other requests had the event loop. Spans of a request's tasks are recorded too, until its response is sent.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import functools
import sys
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Function = Callable[..., Awaitable[Any]]
    Span = tuple[str, int, int]

AUTHENTICATION, REDIS, DATABASE, PROVIDER = "authentication", "redis", "database", "provider"
AUTHENTICATING = "litellm.proxy.auth.user_api_key_auth"
# The part that a call is, by the module, class and name of the function. Each version of LiteLLM lacks some of them.
FUNCTIONS = {
    (AUTHENTICATING, "", "_user_api_key_auth_builder"): AUTHENTICATION,
    (AUTHENTICATING, "", "user_api_key_auth_builder"): AUTHENTICATION,
    (AUTHENTICATING, "", "run_centralized_common_checks"): AUTHENTICATION,
    ("redis.asyncio.client", "Redis", "execute_command"): REDIS,
    ("redis.asyncio.client", "Pipeline", "execute"): REDIS,
    ("prisma.engine.http", "HTTPEngine", "request"): DATABASE,
    ("litellm.llms.custom_httpx.aiohttp_transport", "LiteLLMAiohttpTransport", "handle_async_request"): PROVIDER,
}
REQUESTS = "/chat/completions"
NS_PER_US = 1000

SPANS: ContextVar[list[Span] | None] = ContextVar("spans_of_request", default=None)


class Tracer:
    """Recording of all chat requests on new connections, from its creation until `end`."""

    def __init__(self, server: Any) -> None:
        self._requests: list[tuple[int, int, list[Span]]] = []
        self._replaced: list[tuple[Any, str, Any]] = []
        for (module, owner, name), part in FUNCTIONS.items():
            # A module that was not imported is not used.
            imported = sys.modules.get(module)
            parent = getattr(imported, owner, None) if owner else imported
            if hasattr(parent, name):
                self._replace(parent, name, recorded(getattr(parent, name), part))
        # Each connection asks the configuration for the application.
        self._replace(server.config, "loaded_app", self._traced(server.config.loaded_app))

    def end(self) -> dict[str, Any]:
        """Return the requests: arrival in nanoseconds, duration and spans in microseconds since the arrival."""
        for parent, name, original in self._replaced:
            setattr(parent, name, original)
        return {"requests": self._requests}

    def _replace(self, parent: Any, name: str, function: Any) -> None:
        self._replaced.append((parent, name, getattr(parent, name)))
        setattr(parent, name, function)

    def _traced(self, app: Function) -> Function:
        """Return an ASGI application that records the chat requests to `app`."""

        async def traced(scope: dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] != "http" or not scope["path"].endswith(REQUESTS):
                await app(scope, receive, send)
                return
            spans: list[Span] = []
            SPANS.set(spans)
            arrived, began = time.time_ns(), time.perf_counter_ns()
            await app(scope, receive, send)
            duration = (time.perf_counter_ns() - began) // NS_PER_US
            within = [(part, (first - began) // NS_PER_US, (last - began) // NS_PER_US) for part, first, last in spans]
            self._requests.append((arrived, duration, within))

        return traced


def recorded(function: Function, part: str) -> Function:
    """Return the function with a span of the current request for each call."""

    @functools.wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        spans = SPANS.get()
        if spans is None:
            return await function(*arguments, **named)
        began = time.perf_counter_ns()
        try:
            return await function(*arguments, **named)
        finally:
            spans.append((part, began, time.perf_counter_ns()))

    return call
