"""Times of requests: evenly spaced, at a rate that follows the capacity of the accounts, and the same in every run.

A burst beyond all capacity would be rejected rightly, and such a rejection looks like a router's mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel_lab.stack.litellm.accounts import Account

MINUTE = 60.0


@dataclass(frozen=True)
class Stretch:
    """A rate of requests per second, from the time `at` on."""

    at: float
    rate: float


@dataclass(frozen=True)
class Trouble:
    """A fault of an account, in the mock's syntax, with its time."""

    account: str
    fault: str
    at: float
    lasts: float | None = None
    """Seconds; `None` for the rest of the drill."""

    def entry(self) -> dict[str, object]:
        """Return an entry of the mock's timeline."""
        span = {} if self.lasts is None else {"for": self.lasts}
        return {"at": self.at, "account": self.account, "fault": self.fault, **span}

    def is_on(self, second: float) -> bool:
        """Whether the fault is active at `second`."""
        return self.at <= second and (self.lasts is None or second < self.at + self.lasts)


def total(accounts: Iterable[Account]) -> float:
    """Return the requests per second that all accounts accept together."""
    return sum(account.rpm for account in accounts) / MINUTE


def living(accounts: Sequence[Account], troubles: Sequence[Trouble], share: float) -> list[Stretch]:
    """Return a load of the share `share` of the capacity of healthy accounts at each moment.

    Accounts with a quota do not count: the router decides how fast to use it, and no router has to notice an early
    reset.
    """
    moments = {0.0}
    for trouble in troubles:
        moments |= {trouble.at} | (set() if trouble.lasts is None else {trouble.at + trouble.lasts})
    stretches = []
    for moment in sorted(moments):
        dead = {trouble.account for trouble in troubles if trouble.is_on(moment)}
        alive = [account for account in accounts if account.name not in dead and not account.quota]
        stretches.append(Stretch(moment, share * total(alive)))
    return stretches


def times(stretches: Sequence[Stretch], seconds: float) -> list[float]:
    """Return the time of each request, in seconds from the beginning."""
    return list(_times(stretches, seconds))


def _times(stretches: Sequence[Stretch], seconds: float) -> Iterator[float]:
    owed = 0.0
    for number, stretch in enumerate(stretches):
        ends = min(stretches[number + 1].at if number + 1 < len(stretches) else seconds, seconds)
        due = stretch.at + (1.0 - owed) / stretch.rate
        while due < ends:
            yield due
            due += 1.0 / stretch.rate
        # The fraction of a request that was due when the rate changed is carried over.
        owed = max(0.0, 1.0 - (due - ends) * stretch.rate) if ends > stretch.at else owed
