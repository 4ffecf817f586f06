"""Has LiteLLM or the plugin leave something out, or do it otherwise, to learn what it costs.

PATCH_OF_PROXY names what. A version that does not have what is to be patched is an error at boot: else something would
be measured that is not what was asked for.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

CALLBACK, AUTH = "litellm.integrations.prometheus", "litellm.proxy.auth.auth_checks"
SERVER, PLUGIN = "litellm.proxy.proxy_server", "litellm_evenkeel"
SUCCESS, BUDGETS = "async_log_success_event", "_increment_remaining_budget_metrics"
# All that the event after an answer updates, but for the gauges of budgets.
UPDATES = (
    "_increment_top_level_request_and_spend_metrics",
    "_increment_token_metrics",
    "_set_virtual_key_rate_limit_metrics",
    "_set_latency_metrics",
    "set_llm_deployment_success_metrics",
    "_increment_cache_metrics",
)
# Far more than any load here has keys, users and teams.
MANY = 100_000


async def nothing(*_: Any, **__: Any) -> None:
    """Stand in for what is left out."""


def early_return(module: ModuleType) -> None:
    """Let its event after an answer return at once; what it counts when an answer is sent is counted."""
    replace(module.PrometheusLogger, SUCCESS, lambda _: nothing)


def skip_updates(module: ModuleType) -> None:
    """Let its event after an answer update no metrics, but look budgets up."""
    for name in UPDATES:
        replace(module.PrometheusLogger, name, lambda _: lambda *_, **__: None)


def skip_budgets(module: ModuleType) -> None:
    """Let it look no budgets up."""
    replace(module.PrometheusLogger, BUDGETS, lambda _: nothing)


def background_budgets(module: ModuleType) -> None:
    """Let it look budgets up in a task of its own, for which nobody waits."""
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
    """A callback that awaits no lookup of budgets, but keeps it."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback
        self.kept: list[Awaitable[None]] = []

    def __getattr__(self, name: str) -> Any:
        """Return what the callback has; of a lookup, what keeps it."""
        found = getattr(self._callback, name)
        if not name.endswith("_budget_metrics_after_api_request"):
            return found

        def keep(*arguments: Any, **named: Any) -> Awaitable[None]:
            self.kept.append(found(*arguments, **named))
            return nothing()

        return keep


def parallel_budgets(module: ModuleType) -> None:
    """Let it look up all of a request's budgets at once."""

    def together(original: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
        @functools.wraps(original)
        async def gathered(callback: Any, *arguments: Any, **named: Any) -> None:
            collecting = Collecting(callback)
            await original(collecting, *arguments, **named)
            await asyncio.gather(*collecting.kept)

        return gathered

    replace(module.PrometheusLogger, BUDGETS, together)


def cached_budgets(module: ModuleType) -> None:
    """Let it ask the proxy's cache for a user before the database."""
    callback = Path(module.__file__ or "").parents[2] / "integrations" / "prometheus.py"
    if "check_db_only=True" not in callback.read_text(encoding="utf-8"):
        raise AttributeError("LiteLLM's Prometheus callback asks the cache first already")

    def with_cache(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def asked(*arguments: Any, check_db_only: bool | None = None, **named: Any) -> Any:
            del check_db_only
            return original(*arguments, **named)

        return asked

    replace(module, "get_user_object", with_cache)


def large_key_cache(module: ModuleType) -> None:
    """Let what is known of keys, teams and users stay in memory, however much it is."""
    replace(module.user_api_key_cache.in_memory_cache, "max_size_in_memory", lambda _: MANY)


def plugin_early_return(module: ModuleType) -> None:
    """Let the plugin's Prometheus callback return at once after an answer."""
    replace(module.EvenkeelPrometheusLogger, SUCCESS, lambda _: nothing)


def plugin_fresh_snapshots(module: ModuleType) -> None:
    """Let the rotation measure all candidates again for every request."""

    def rebuild(_: Any, candidates: Any, now: float) -> None:
        for _ in candidates.rebuild_steps(now):
            pass

    replace(module.AccountPool, "ensure_fresh", lambda _: rebuild)


def plugin_no_candidate_cache(module: ModuleType) -> None:
    """Let the rotation read all candidates again for every request."""
    replace(module.CandidateCache, "lookup", lambda _: module.CandidateCache.resolve)


PATCHES: dict[str, tuple[str, Callable[[ModuleType], None]]] = {
    "early_return": (CALLBACK, early_return),
    "skip_updates": (CALLBACK, skip_updates),
    "skip_budgets": (CALLBACK, skip_budgets),
    "background_budgets": (CALLBACK, background_budgets),
    "parallel_budgets": (CALLBACK, parallel_budgets),
    "cached_budgets": (AUTH, cached_budgets),
    "large_key_cache": (SERVER, large_key_cache),
    "plugin_early_return": (f"{PLUGIN}.metrics.callback", plugin_early_return),
    "plugin_fresh_snapshots": (f"{PLUGIN}.rotation.pool.account_pool", plugin_fresh_snapshots),
    "plugin_no_candidate_cache": (f"{PLUGIN}.rotation.pool.candidate_cache", plugin_no_candidate_cache),
}
"""What may be asked for: which module it is about, and what is done with that once it is there."""


def replace(where: Any, name: str, made: Callable[[Any], Any]) -> None:
    """Put something in the place of what is there; AttributeError if nothing is."""
    setattr(where, name, made(getattr(where, name)))
