"""Composition of a worker's journal."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
from prometheus_client import REGISTRY

from litellm_evenkeel import operator_actions, proxy_process
from litellm_evenkeel.admin import routes
from litellm_evenkeel.instrumentation import export
from litellm_evenkeel.journal import metrics
from litellm_evenkeel.journal.actions import ActionLog
from litellm_evenkeel.journal.callback import Journal_PROXY_
from litellm_evenkeel.journal.factory import open_action_store, open_journal
from litellm_evenkeel.journal.settings import FINAL_EVENTS_SECONDS
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.support.error_log import ErrorReporter
from litellm_evenkeel.wiring import server_urls

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.journal import Journal


def journal() -> Journal_PROXY_:
    """Create the journal callback of this worker."""
    config, path = proxy_process.config(), f"{SECTION}.journal"
    own = settings(config.get(SECTION)).journal
    # The address is read again for each connection, because a rotated password is written there.
    database = functools.partial(_database, path)
    opened = open_journal(own, path, database)
    errors = ErrorReporter("journal")
    actions = ActionLog(lambda: open_action_store(own, path, database), errors.report)
    unsubscribe = operator_actions.subscribe(actions.append)
    write_metrics = export.export_samples(
        lambda: metrics.samples(opened), metrics.definitions(opened), REGISTRY, on_error=errors.report
    )
    if proxy_process.server() is not None:
        routes.install_health("journal", lambda: _health(opened, errors))
    _close_with_proxy(opened, write_metrics, unsubscribe)
    # For processes without a proxy. Exit functions run in reverse order, so this one runs before LiteLLM's own, which
    # would deliver its last events to a journal that is closed.
    atexit.register(_close_at_exit, opened)
    return Journal_PROXY_(opened, errors.report)


def _database(path: str) -> str:
    return server_urls.postgres(proxy_process.config(), os.environ, path)


def _health(journal: Journal, errors: ErrorReporter) -> dict[str, Any]:
    stores = [{**asdict(counts), "dropped": counts.dropped} for counts in journal.counts()]
    document = {"pid": os.getpid(), "writer": journal.writer, "stores": stores, "errors": errors.counts}
    if journal.has_second_store:
        document["mismatches"] = journal.mismatches
    return {**document, "recent": [record._asdict() for record in journal.recent]}


def _close_with_proxy(journal: Journal, write_metrics: Callable[[], None], unsubscribe: Callable[[], None]) -> None:
    """Close the journal before LiteLLM's shutdown handler runs."""

    async def close() -> None:
        # An error here must not keep LiteLLM from its own shutdown.
        with contextlib.suppress(Exception):
            # Deliver the events that LiteLLM has queued for its callbacks.
            await asyncio.wait_for(GLOBAL_LOGGING_WORKER.flush(), FINAL_EVENTS_SECONDS)
        with contextlib.suppress(Exception):
            unsubscribe()
        with contextlib.suppress(Exception):
            await asyncio.to_thread(journal.close)
        with contextlib.suppress(Exception):
            # Without another write, records that were dropped just now would never be counted.
            write_metrics()

    proxy_process.on_shutdown(before=close)


def _close_at_exit(journal: Journal) -> None:
    # Flushing uses LiteLLM's internals. The journal must be closed even if they have changed.
    with contextlib.suppress(Exception):
        give_up_at = time.monotonic() + FINAL_EVENTS_SECONDS
        while time.monotonic() < give_up_at:
            # LiteLLM's exit function. LiteLLM itself calls it only once.
            GLOBAL_LOGGING_WORKER._flush_on_exit()  # noqa: SLF001
            queue = GLOBAL_LOGGING_WORKER._queue  # noqa: SLF001
            if queue is None or queue.empty():
                break
    journal.close()
