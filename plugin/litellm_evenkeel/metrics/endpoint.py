"""The callback in its proxy: scrapes are answered at /metrics, and a worker that ends leaves all that it counted."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.metrics.multiprocess.compaction import DeadWorkerCompactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litellm_evenkeel.metrics.callback import EvenkeelPrometheusLogger

LOG = logging.getLogger("litellm_evenkeel.metrics")
TASKS: set[asyncio.Task[None]] = set()
SHUTDOWN = "proxy_shutdown_event"


def mount(callback: EvenkeelPrometheusLogger, folder: Path | None) -> None:
    """Answer scrapes at /metrics, where LiteLLM's own middleware asks for a key if it is told to."""
    from litellm.integrations.prometheus_metrics_endpoint import make_metrics_asgi_app  # noqa: PLC0415 - of a proxy
    from litellm.proxy import proxy_server  # noqa: PLC0415

    registry = REGISTRY
    undisturbed: Callable[[], contextlib.AbstractAsyncContextManager[None]] = contextlib.nullcontext
    if folder is not None:
        _at_shutdown(proxy_server, callback.write_final)
        undisturbed = DeadWorkerCompactor(folder).read_lock
        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
        task = asyncio.get_running_loop().create_task(callback.keep_writing())
        # A loop holds its tasks weakly.
        TASKS.add(task)
        task.add_done_callback(TASKS.discard)
    answer = make_metrics_asgi_app(registry)

    async def scraped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await callback.drain()
        async with undisturbed():
            await answer(scope, receive, send)

    proxy_server.app.mount("/metrics", scraped)


def _at_shutdown(server: Any, leave: Callable[[], None]) -> None:
    """Have something done when a worker has answered its last request: soon after, uvicorn ends it by a signal."""
    ended = getattr(server, SHUTDOWN, None)
    if not asyncio.iscoroutinefunction(ended):
        LOG.debug("evenkeel: this LiteLLM does not say when it ends: what a worker counted last may be lost then.")
        return

    @functools.wraps(ended)
    async def shutdown(*arguments: Any, **named: Any) -> None:
        try:
            await ended(*arguments, **named)
        finally:
            leave()

    setattr(server, SHUTDOWN, shutdown)
