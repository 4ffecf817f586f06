"""Patches that remove or change a part of LiteLLM or of the plugin, to measure its cost.

The environment variable PATCH_OF_PROXY names the patch. If a version lacks the patched code, the boot fails, because
the measurement would be of something else.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

CALLBACK, AUTH = "litellm.integrations.prometheus", "litellm.proxy.auth.auth_checks"
SERVER, PLUGIN = "litellm.proxy.proxy_server", "litellm_evenkeel"
SUCCESS, BUDGETS = "async_log_success_event", "_increment_remaining_budget_metrics"
# All updates by the success event, except for the gauges of budgets.
UPDATES = (
    "_increment_top_level_request_and_spend_metrics",
    "_increment_token_metrics",
    "_set_virtual_key_rate_limit_metrics",
    "_set_latency_metrics",
    "set_llm_deployment_success_metrics",
    "_increment_cache_metrics",
)
# Far more than the keys, users and teams of any load.
MANY = 100_000
LONGEST_REQUEST_SECONDS = 0.5
HOUR, CLOCK_POLL_SECONDS = 3600.0, 0.1


async def nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the replacement of removed code."""


def early_return(module: ModuleType) -> None:
    """Make the success event return at once. Counters that are updated when a response is sent still count."""
    replace(module.PrometheusLogger, SUCCESS, lambda _: nothing)


def skip_updates(module: ModuleType) -> None:
    """Make the success event update no metrics, but look up budgets."""
    for name in UPDATES:
        replace(module.PrometheusLogger, name, lambda _: lambda *_, **__: None)


def skip_budgets(module: ModuleType) -> None:
    """Make the callback look up no budgets."""
    replace(module.PrometheusLogger, BUDGETS, lambda _: nothing)


def background_budgets(module: ModuleType) -> None:
    """Make the callback look up budgets in a task that it does not await."""
    tasks: set[asyncio.Task[None]] = set()

    def apart(original: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
        @functools.wraps(original)
        async def begun(*arguments: Any, **named: Any) -> None:
            task = asyncio.create_task(original(*arguments, **named))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return begun

    replace(module.PrometheusLogger, BUDGETS, apart)


class Collecting:
    """A proxy object for a callback that collects lookups of budgets instead of awaiting them."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback
        self.lookups: list[Awaitable[None]] = []

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the callback; for a lookup, a function that collects it."""
        attribute = getattr(self._callback, name)
        if not name.endswith("_budget_metrics_after_api_request"):
            return attribute

        def collect(*arguments: Any, **named: Any) -> Awaitable[None]:
            self.lookups.append(attribute(*arguments, **named))
            return nothing()

        return collect


def parallel_budgets(module: ModuleType) -> None:
    """Make the callback look up all budgets of a request concurrently."""

    def together(original: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
        @functools.wraps(original)
        async def gathered(callback: Any, *arguments: Any, **named: Any) -> None:
            collecting = Collecting(callback)
            await original(collecting, *arguments, **named)
            await asyncio.gather(*collecting.lookups)

        return gathered

    replace(module.PrometheusLogger, BUDGETS, together)


def cached_budgets(module: ModuleType) -> None:
    """Make the callback look up users in the proxy's cache before the database."""
    callback = Path(module.__file__ or "").parents[2] / "integrations" / "prometheus.py"
    if "check_db_only=True" not in callback.read_text(encoding="utf-8"):
        raise AttributeError("LiteLLM's Prometheus callback already reads the cache first")

    def with_cache(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def cached(*arguments: Any, check_db_only: bool | None = None, **named: Any) -> Any:
            del check_db_only
            return original(*arguments, **named)

        return cached

    replace(module, "get_user_object", with_cache)


def large_key_cache(module: ModuleType) -> None:
    """Make the cache of keys, teams and users large enough for all of them."""
    replace(module.user_api_key_cache.in_memory_cache, "max_size_in_memory", lambda _: MANY)


def plugin_early_return(module: ModuleType) -> None:
    """Make the success event of the plugin's Prometheus callback return at once."""
    replace(module.EvenkeelPrometheusLogger, SUCCESS, lambda _: nothing)


def plugin_fresh_snapshots(module: ModuleType) -> None:
    """Make the rotation build a new snapshot for every request."""

    def rebuild(_: Any, candidates: Any, now: float) -> None:
        for _ in candidates.rebuild_steps(now):
            pass

    replace(module.AccountPool, "ensure_fresh", lambda _: rebuild)


def plugin_no_candidate_cache(module: ModuleType) -> None:
    """Make the rotation build the candidate set again for every request."""
    replace(module.CandidateCache, "lookup", lambda _: module.CandidateCache.resolve)


def slower(module: ModuleType) -> None:
    """Make each request take more CPU time, by the share in SLOWER_SHARE: a regression that a search has to find."""
    share, last = float(os.environ["SLOWER_SHARE"]), time.process_time()

    def with_more_work(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(original)
        async def completion(*arguments: Any, **named: Any) -> Any:
            nonlocal last
            # A share of the CPU time since the last request. A pause between requests has work of its own.
            until = (now := time.process_time()) + share * min(now - last, LONGEST_REQUEST_SECONDS)
            while time.process_time() < until:
                pass
            last = time.process_time()
            return await original(*arguments, **named)

        return completion

    replace(module.Router, "acompletion", with_more_work)


def jumping_clock(_: ModuleType) -> None:
    """Set `time.time()` an hour ahead while the file CLOCK_OF_PROXY exists, and leave a mark beside it."""
    path, original, offset = Path(os.environ["CLOCK_OF_PROXY"]), time.time, [0.0]

    def watch() -> None:
        while True:
            offset[0] = HOUR if path.exists() else 0.0
            if offset[0]:
                path.with_name(f"{path.name}-seen-{os.getpid()}").touch()
            time.sleep(CLOCK_POLL_SECONDS)

    time.time = lambda: original() + offset[0]
    threading.Thread(target=watch, daemon=True).start()


PATCHES: dict[str, tuple[str, Callable[[ModuleType], None]]] = {
    "early_return": (CALLBACK, early_return),
    "skip_updates": (CALLBACK, skip_updates),
    "skip_budgets": (CALLBACK, skip_budgets),
    "background_budgets": (CALLBACK, background_budgets),
    "parallel_budgets": (CALLBACK, parallel_budgets),
    "cached_budgets": (AUTH, cached_budgets),
    "slower": ("litellm.router", slower),
    "large_key_cache": (SERVER, large_key_cache),
    "jumping_clock": (SERVER, jumping_clock),
    "plugin_early_return": (f"{PLUGIN}.metrics.callback", plugin_early_return),
    "plugin_fresh_snapshots": (f"{PLUGIN}.rotation.pool.account_pool", plugin_fresh_snapshots),
    "plugin_no_candidate_cache": (f"{PLUGIN}.rotation.pool.candidate_cache", plugin_no_candidate_cache),
}
"""Patches by name: the patched module, and the function that patches it after its import."""


def replace(where: Any, name: str, made: Callable[[Any], Any]) -> None:
    """Replace an attribute by `made(attribute)`; `AttributeError` if there is none."""
    setattr(where, name, made(getattr(where, name)))
