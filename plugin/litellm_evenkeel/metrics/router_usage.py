"""What the proxy's router says is left of a model group, where providers do not say it in their answers.

LiteLLM asks its router, and with it Redis, in the middle of each event. Here a group is asked for once in a while,
beside the events, and what it says is shown for all who have used it since.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.facts import LEFT, NOTHING, Raw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from litellm_evenkeel.metrics.children import Labels
    from litellm_evenkeel.metrics.families import Family

    Ask = Callable[[str], Awaitable[Mapping[str, Any] | None]]

LOG = logging.getLogger("litellm_evenkeel.metrics")
GAUGES = {
    "litellm_remaining_requests_metric": "x-ratelimit-remaining-requests",
    "litellm_remaining_tokens_metric": "x-ratelimit-remaining-tokens",
}
EACH_SECONDS = 1.0
# Of which nothing was said, so long nobody asks again.
SILENT_SECONDS = 60.0


class RouterUsage:
    """One worker's. Its methods are called in one loop."""

    def __init__(
        self, families: Mapping[str, Family], cleaned: Callable[[Any], Any], ask: Ask, clock: Callable[[], float]
    ) -> None:
        self._gauges = [(families[name], left) for name, left in GAUGES.items() if name in families]
        self._cleaned, self._ask, self._clock = cleaned, ask, clock
        self._users: dict[str, dict[tuple[Family, Labels], str]] = {}
        self._next: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def saw(self, event: Raw) -> None:
        """Know of an event."""
        payload = event["standard_logging_object"]
        group = payload.get("model_group")
        if not group or not self._gauges or self._clock() < self._next.get(group, 0.0):
            return
        headers = payload["hidden_params"].get("additional_headers") or NOTHING
        users = self._users.setdefault(group, {})
        for (gauge, left), told in zip(self._gauges, LEFT, strict=False):
            if headers.get(told) is None:
                users[gauge, self._labels(gauge, event, payload)] = left

    def look(self) -> None:
        """Ask for those groups that were used, if nobody asks already."""
        if self._users and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        found, self._users = self._users, {}
        for group, users in found.items():
            try:
                usage = await self._ask(group) if users else None
            except Exception as error:  # noqa: BLE001 - it is LiteLLM's own, and the next time may go better
                LOG.warning("evenkeel: the router does not say what is left of a group (%s).", type(error).__name__)
                usage = None
            for (gauge, labels), left in users.items():
                value = (usage or NOTHING).get(left)
                if value is not None:
                    gauge.child(labels).set(value)
            self._next[group] = self._clock() + (EACH_SECONDS if usage else SILENT_SECONDS)

    def _labels(self, gauge: Family, event: Raw, payload: Raw) -> Labels:
        metadata = payload["metadata"]
        told = {
            "model_group": payload.get("model_group"),
            "api_provider": payload.get("custom_llm_provider"),
            "api_base": payload.get("api_base"),
            "litellm_model_name": event.get("model"),
            "hashed_api_key": metadata["user_api_key_hash"],
            "api_key_alias": metadata["user_api_key_alias"],
            "model_id": payload.get("model_id"),
        }
        return tuple([str(self._cleaned(told.get(name))) for name in gauge.labelnames])
