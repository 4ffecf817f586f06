"""Counts failed lookups, and tells an operator of them: seldom, and nothing that names anybody."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.budget import Source
from litellm_evenkeel.budgets.reasons import DriverError, cause, driver_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from litellm_evenkeel.budgets.budget import BudgetEntity, Entity

LOG = logging.getLogger("litellm_evenkeel.budgets")
TOLD_EACH_SECONDS = 60.0
CURES = {
    DriverError.TIMEOUT: "See whether the server is overloaded, or hangs; evenkeel.budgets.timeout is how long it may "
    "take.",
    DriverError.REFUSED: "See whether the server is up and reached from here.",
    DriverError.DENIED: "See that the proxy's user of it may read there.",
    DriverError.SCHEMA: "See that LiteLLM's migrations have run in the schema that its address names.",
    DriverError.ERROR: "See the server's own log.",
}
# What it is read from is LiteLLM's, and changes with its versions.
OF_LITELLM = "This LiteLLM may keep it otherwise. See whether there is a newer litellm-evenkeel."


class SourceFailures:
    """By kind, source and reason."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.counts: Counter[tuple[BudgetEntity, Source, DriverError]] = Counter()
        self._clock = clock
        self._told_at: dict[tuple[BudgetEntity, Source, DriverError], float] = {}

    def record(self, kinds: Iterable[BudgetEntity], source: Source, error: BaseException) -> None:
        """Know of lookups that failed together: the kind of each."""
        why = driver_error(error)
        for kind, count in Counter(kinds).items():
            self.counts[kind, source, why] += count
            self._tell(kind, source, why, error)

    def record_skipped(self, entities: Iterable[Entity], source: Source) -> None:
        """Know of lookups that were not made. Why has been told before."""
        for kind, _ in entities:
            self.counts[kind, source, DriverError.CIRCUIT_OPEN] += 1

    def _tell(self, kind: BudgetEntity, source: Source, why: DriverError, error: BaseException) -> None:
        now = self._clock()
        told_at = self._told_at.get((kind, source, why))
        if told_at is not None and now - told_at < TOLD_EACH_SECONDS:
            return
        self._told_at[kind, source, why] = now
        LOG.warning(
            "evenkeel: budgets of kind %s could not be looked up in %s: %s (%s). What was known of them stays. %s",
            kind.value, source.value, why.value, cause(error),
            OF_LITELLM if source in {Source.EVENT, Source.PROCESS} else CURES[why],
        )  # fmt: skip
