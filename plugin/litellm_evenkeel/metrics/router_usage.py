"""Gauges of what remains of a model group's limits, from the proxy's router, for providers that do not state it.

LiteLLM asks its router, and thereby Redis, during each event. Here each model group is polled at intervals, outside of
events, and the result is exported for all clients that used the model group since the last poll.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import EMPTY, REMAINING_HEADERS, Raw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from litellm_evenkeel.metrics.registry.families import Family

    ReadUsage = Callable[[str], Awaitable[Mapping[str, Any] | None]]

LOG = logging.getLogger("litellm_evenkeel.metrics")
GAUGES = {
    "litellm_remaining_requests_metric": "x-ratelimit-remaining-requests",
    "litellm_remaining_tokens_metric": "x-ratelimit-remaining-tokens",
}
LABEL_NAMES = (
    "model_group",
    "api_provider",
    "api_base",
    "litellm_model_name",
    "hashed_api_key",
    "api_key_alias",
    "model_id",
)
# Bound on the label sets of one model group that are kept until its next poll.
MAX_LABEL_SETS = 10_000
TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 1.0
# Interval for model groups whose last poll failed or returned nothing.
RETRY_SECONDS = 60.0


class RemainingQuotaPoller:
    """Poller of one worker. Its methods are called in one event loop."""

    def __init__(
        self,
        families: Mapping[str, Family],
        clean: Callable[[Any], Any],
        read_usage: ReadUsage,
        clock: Callable[[], float],
    ) -> None:
        self._gauges = [(families[name], header) for name, header in GAUGES.items() if name in families]
        self._clean, self._read_usage, self._clock = clean, read_usage, clock
        self._label_sets: dict[str, dict[tuple[Any, ...], None]] = {}
        """Label sets whose provider stated no remaining limit, by model group, in order of arrival.

        Each has a flag for each gauge whether the provider's value is missing, then the values of `LABEL_NAMES`.
        """
        self._next_poll_at: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def observe(self, event: Raw) -> None:
        """Keep the labels of an event until its model group's next poll, if the provider stated no remaining limit."""
        payload = event["standard_logging_object"]
        model_group = payload.get("model_group")
        if not model_group or not self._gauges:
            return
        headers = payload["hidden_params"].get("additional_headers") or EMPTY
        is_missing = tuple([headers.get(name) is None for name in REMAINING_HEADERS])
        label_sets = self._label_sets.setdefault(model_group, {})
        if not any(is_missing) or len(label_sets) >= MAX_LABEL_SETS:
            return
        metadata = payload["metadata"]
        label_set = (
            is_missing,
            model_group,
            payload.get("custom_llm_provider"),
            payload.get("api_base"),
            event.get("model", ""),
            metadata["user_api_key_hash"],
            metadata["user_api_key_alias"],
            payload.get("model_id"),
        )
        label_sets[label_set] = None

    def poll(self) -> None:
        """Start a poll of the model groups that were used and are due, unless one is running."""
        now = self._clock()
        due = [
            model_group
            for model_group, label_sets in self._label_sets.items()
            if label_sets and now >= self._next_poll_at.get(model_group, 0.0)
        ]
        if due and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._poll_model_groups(due))

    async def _poll_model_groups(self, model_groups: Iterable[str]) -> None:
        for model_group in model_groups:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    usage = await self._read_usage(model_group)
            except Exception as error:  # noqa: BLE001 - LiteLLM's code may raise anything, and the next poll may succeed
                LOG.warning(
                    "evenkeel: LiteLLM's router could not read the remaining limits of a model group (%s). "
                    "Their gauges are not updated; the next attempt is in %g seconds.",
                    type(error).__name__,
                    RETRY_SECONDS,
                )
                usage = None
            for is_missing, *values in self._label_sets.pop(model_group, ()):
                self._show(is_missing, dict(zip(LABEL_NAMES, values, strict=True)), usage or EMPTY)
            self._next_poll_at[model_group] = self._clock() + (POLL_SECONDS if usage else RETRY_SECONDS)

    def _show(self, is_missing: Sequence[bool], labels: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        for (gauge, header), is_wanted in zip(self._gauges, is_missing, strict=False):
            if is_wanted and usage.get(header) is not None:
                values = tuple([str(self._clean(labels.get(name))) for name in gauge.labelnames])
                gauge.get_or_create(values).set(usage[header])
