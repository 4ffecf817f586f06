"""Integration of the callback in its proxy: the /metrics endpoint, and a final write when a worker ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel import proxy_process
from litellm_evenkeel.metrics.multiprocess.compaction import DeadWorkerCompactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litellm_evenkeel.metrics.callback import EvenkeelPrometheusLogger

LOG = logging.getLogger("litellm_evenkeel.metrics")
TASKS: set[asyncio.Task[None]] = set()


def mount(callback: EvenkeelPrometheusLogger, folder: Path | None) -> None:
    """Mount the endpoint at /metrics, where LiteLLM's own middleware requires a key if it is configured to."""
    from litellm.integrations.prometheus_metrics_endpoint import make_metrics_asgi_app  # noqa: PLC0415 - of a proxy
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    registry = REGISTRY
    read_lock: Callable[[], contextlib.AbstractAsyncContextManager[None]] = contextlib.nullcontext
    if folder is not None:
        if not proxy_process.on_shutdown(after=callback.write_final):
            LOG.debug(
                "evenkeel: this LiteLLM has no %s. The last counts of a worker that ends may be lost.",
                proxy_process.SHUTDOWN_HANDLER,
            )
        read_lock = DeadWorkerCompactor(folder).read_lock
        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
        task = asyncio.get_running_loop().create_task(callback.keep_writing())
        # The event loop holds only weak references to its tasks.
        TASKS.add(task)
        task.add_done_callback(TASKS.discard)
    metrics_app = make_metrics_asgi_app(registry)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await callback.drain()
        async with read_lock():
            await metrics_app(scope, receive, send)

    app.mount("/metrics", serve)
