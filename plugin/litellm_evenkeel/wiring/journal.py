"""The journal of a worker."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
from prometheus_client import REGISTRY

from litellm_evenkeel.admin import routes
from litellm_evenkeel.instrumentation import export
from litellm_evenkeel.journal import metrics
from litellm_evenkeel.journal.callback import Journal_PROXY_
from litellm_evenkeel.journal.factory import open_journal
from litellm_evenkeel.journal.settings import FINAL_EVENTS_SECONDS
from litellm_evenkeel.litellm_router import SERVER
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.support.error_log import ErrorReporter
from litellm_evenkeel.wiring import server_urls
from litellm_evenkeel.wiring.proxy_process import proxy_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.journal import Journal

# What LiteLLM awaits when it ends.
SHUTDOWN_HANDLER = "proxy_shutdown_event"


def journal() -> Journal_PROXY_:
    """Make the journal of this worker."""
    config, where = proxy_config(), f"{SECTION}.journal"
    terms = settings(config.get(SECTION)).journal
    # Read anew for each connection: whoever rotates passwords writes the new one there.
    made = open_journal(terms, where, lambda: server_urls.postgres(proxy_config(), os.environ, where))
    errors = ErrorReporter("journal")
    show = export.export_samples(lambda: metrics.samples(made), metrics.definitions(made), REGISTRY, on_error=errors.report)
    if SERVER in sys.modules:
        routes.install_health("journal", lambda: _health(made, errors))
    _close_with_proxy(made, show)
    # Elsewhere. What is registered last comes first: before LiteLLM's own end, which would find nobody there to tell.
    atexit.register(_close_at_exit, made)
    return Journal_PROXY_(made, errors.report)


def _health(journal: Journal, errors: ErrorReporter) -> dict[str, Any]:
    stores = [{**asdict(one), "dropped": one.dropped} for one in journal.counts()]
    mismatches = {"mismatches": journal.mismatches} if journal.has_second_store else {}
    return {"pid": os.getpid(), "writer": journal.writer, "stores": stores, "errors": errors.counts, **mismatches}


def _close_with_proxy(journal: Journal, show: Callable[[], None]) -> None:
    """Write what waits when the proxy is told to end: by a signal, uvicorn ends it before anything is done at exit."""
    server = sys.modules.get(SERVER)
    ended = getattr(server, SHUTDOWN_HANDLER, None)
    if ended is None:
        return

    async def end(*arguments: Any, **named: Any) -> Any:
        # Whatever goes wrong here keeps LiteLLM from nothing that it has to do then.
        with contextlib.suppress(Exception):
            # Of answers that are on their way to the callbacks.
            await asyncio.wait_for(GLOBAL_LOGGING_WORKER.flush(), FINAL_EVENTS_SECONDS)
        with contextlib.suppress(Exception):
            await asyncio.to_thread(journal.close)
        with contextlib.suppress(Exception):
            # What was dropped now, nobody would hear of any more.
            show()
        return await ended(*arguments, **named)

    setattr(server, SHUTDOWN_HANDLER, end)


def _close_at_exit(journal: Journal) -> None:
    # However LiteLLM calls these parts of its own, what waits here is written.
    with contextlib.suppress(Exception):
        _flush_events()
    journal.close()


def _flush_events() -> None:
    gives_up_at = time.monotonic() + FINAL_EVENTS_SECONDS
    while time.monotonic() < gives_up_at:
        GLOBAL_LOGGING_WORKER._flush_on_exit()  # noqa: SLF001 - what LiteLLM does then itself, only once
        queue = GLOBAL_LOGGING_WORKER._queue  # noqa: SLF001
        if queue is None or queue.empty():
            break
