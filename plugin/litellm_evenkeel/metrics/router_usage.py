"""What the proxy's router says is left of a model group, where providers do not say it in their answers.

LiteLLM asks its router, and with it Redis, in the middle of each event. Here a group is asked for once in a while,
beside the events, and what it says is shown for all who have used it since.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import EMPTY, REMAINING_HEADERS, Raw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from litellm_evenkeel.metrics.registry.families import Family

    Ask = Callable[[str], Awaitable[Mapping[str, Any] | None]]

LOG = logging.getLogger("litellm_evenkeel.metrics")
GAUGES = {
    "litellm_remaining_requests_metric": "x-ratelimit-remaining-requests",
    "litellm_remaining_tokens_metric": "x-ratelimit-remaining-tokens",
}
# What an event has to say for the labels: of the model group, and of whose request it was.
TOLD = (
    "model_group",
    "api_provider",
    "api_base",
    "litellm_model_name",
    "hashed_api_key",
    "api_key_alias",
    "model_id",
)
User = tuple[Any, ...]
# So many of a group are kept until it is asked about.
MOST_USERS = 10_000
TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 1.0
# Of which nothing was said, so long nobody asks again.
RETRY_SECONDS = 60.0


class RemainingQuotaPoller:
    """One worker's. Its methods are called in one loop."""

    def __init__(
        self, families: Mapping[str, Family], cleaned: Callable[[Any], Any], ask: Ask, clock: Callable[[], float]
    ) -> None:
        self._gauges = [(families[name], left) for name, left in GAUGES.items() if name in families]
        self._cleaned, self._ask, self._clock = cleaned, ask, clock
        self._users: dict[str, dict[User, None]] = {}
        """Those whose provider has not said what is left, by group, in the order in which they came: what `TOLD` names,
        and which of the two."""
        self._next: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def observe(self, event: Raw) -> None:
        """Know of an event."""
        payload = event["standard_logging_object"]
        group = payload.get("model_group")
        if not group or not self._gauges:
            return
        headers = payload["hidden_params"].get("additional_headers") or EMPTY
        silent = tuple([headers.get(told) is None for told in REMAINING_HEADERS])
        users = self._users.setdefault(group, {})
        if not any(silent) or len(users) >= MOST_USERS:
            return
        metadata = payload["metadata"]
        user = (
            silent,
            group,
            payload.get("custom_llm_provider"),
            payload.get("api_base"),
            event.get("model", ""),
            metadata["user_api_key_hash"],
            metadata["user_api_key_alias"],
            payload.get("model_id"),
        )
        users[user] = None

    def poll(self) -> None:
        """Ask for those groups that were used, if nobody asks already, and if it is time."""
        now = self._clock()
        due = [group for group, users in self._users.items() if users and now >= self._next.get(group, 0.0)]
        if due and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look(due))

    async def _look(self, groups: Iterable[str]) -> None:
        for group in groups:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    usage = await self._ask(group)
            except Exception as error:  # noqa: BLE001 - it is LiteLLM's own, and the next time may go better
                LOG.warning("evenkeel: the router does not say what is left of a group (%s).", type(error).__name__)
                usage = None
            for silent, *user in self._users.pop(group, ()):
                self._show(silent, dict(zip(TOLD, user, strict=True)), usage or EMPTY)
            self._next[group] = self._clock() + (POLL_SECONDS if usage else RETRY_SECONDS)

    def _show(self, silent: Sequence[bool], told: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        for (gauge, left), is_silent in zip(self._gauges, silent, strict=False):
            if is_silent and usage.get(left) is not None:
                gauge.child(tuple([str(self._cleaned(told.get(name))) for name in gauge.labelnames])).set(usage[left])
