"""The rotation in Prometheus: what happens is written as it happens, in series that were prepared before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY

from litellm_evenkeel.rotation import series
from litellm_evenkeel.rotation.labels import Labels
from litellm_evenkeel.rotation.tally import Tally
from litellm_evenkeel.scraping import made

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from litellm_evenkeel.described import Series
    from litellm_evenkeel.rotation.answers import Answer
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.picks import Full, Pick
    from litellm_evenkeel.rotation.signals import Signal

MOST_ACCOUNTS = 200
MOST_MODELS = 200
NO_CANDIDATES = "no candidates"


class Metrics:
    """An observer that counts. A series that was there once costs a look into a dictionary."""

    def __init__(self, registry: CollectorRegistry | None = REGISTRY, *, most_accounts: int = MOST_ACCOUNTS) -> None:
        self.accounts, self.models = Labels(most_accounts), Labels(MOST_MODELS)
        self.tally = Tally()
        self.registry = registry
        self._made = {one: made(one, registry) for one in series.WRITTEN}
        self._picks: dict[tuple[str, str], Any] = {}
        self._others: dict[tuple[Series, str, str], Any] = {}
        self._pick_seconds = self._made[series.PICK_SECONDS]
        self._rebuild_seconds = self._made[series.REBUILD_SECONDS]
        waits = self._made[series.WAIT_SECONDS]
        self._waits = {True: waits.labels("served"), False: waits.labels("given up")}

    def picked(self, pick: Pick, group: str, seconds: float) -> None:
        """Know of a choice, and how long it took."""
        del group
        key = (pick.place.seat.account, pick.reason)
        self.tally.picks[key] += 1
        child = self._picks.get(key)
        if child is None:
            child = self._picks[key] = self._made[series.PICKS].labels(self.accounts.of(key[0]), key[1].value)
        child.inc()
        self._pick_seconds.observe(seconds)

    def waited(self, group: str, seconds: float, *, is_served: bool) -> None:
        """Know of a request that has waited for an account."""
        del group
        self._waits[is_served].observe(seconds)

    def refused(self, group: str, full: Full) -> None:
        """Know of a request for which there was none."""
        reason = full.bar.why.value if full.bar else NO_CANDIDATES
        self._made[series.REFUSALS].labels(self.models.of(group), reason).inc()

    def failed(self, attempt: Attempt, signal: Signal) -> None:
        """Know of a failed attempt."""
        account = attempt.pick.place.seat.account
        self.tally.failures[account, signal.kind] += 1
        self._of_account(series.FAILURES, account, signal.kind.value).inc()

    def answered(self, attempt: Attempt, answer: Answer) -> None:
        """Know of an answer."""
        account = attempt.pick.place.seat.account
        self._of_account(series.ENDS, account, "from cache" if answer.is_from_cache else "answered").inc()
        if answer.is_from_cache:
            return
        told = (("prompt", answer.prompt_tokens), ("cached", answer.cached_tokens), ("output", answer.output_tokens))
        for kind, tokens in told:
            if tokens > 0:
                self._of_account(series.TOKENS, account, kind).inc(tokens)

    def vanished(self, attempt: Attempt) -> None:
        """Know of an attempt of whose end nobody told."""
        self._of_account(series.ENDS, attempt.pick.place.seat.account, "vanished").inc()

    def rebuilt(self, seconds: float) -> None:
        """Know that a snapshot was made anew."""
        self._rebuild_seconds.observe(seconds)

    def plugin_error(self, where: str) -> None:
        """Know of an error of ours, by where it happened."""
        self._made[series.ERRORS].labels(where).inc()

    def _of_account(self, one: Series, account: str, kind: str) -> Any:
        key = (one, account, kind)
        child = self._others.get(key)
        if child is None:
            child = self._others[key] = self._made[one].labels(self.accounts.of(account), kind)
        return child
