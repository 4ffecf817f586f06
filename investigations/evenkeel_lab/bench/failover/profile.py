"""When requests are due: at a rate that changes with what the accounts can bear, evenly spaced, in every run the same.

Evenly, because a burst that no account could bear would be refused rightly, and nobody could tell such a refusal from
one that a router is to blame for.
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
    """So many requests a second, from a moment on."""

    at: float
    rate: float


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with an account, in the words of the mock's faults, and when."""

    account: str
    fault: str
    at: float
    lasts: float | None = None
    """None for the rest of the drill."""

    def entry(self) -> dict[str, object]:
        """Return it for the mock's timeline."""
        span = {} if self.lasts is None else {"for": self.lasts}
        return {"at": self.at, "account": self.account, "fault": self.fault, **span}

    def is_on(self, second: float) -> bool:
        """Whether the account is in trouble at that second."""
        return self.at <= second and (self.lasts is None or second < self.at + self.lasts)


def total(accounts: Iterable[Account]) -> float:
    """Return how many requests a second the accounts bear together."""
    return sum(account.rpm for account in accounts) / MINUTE


def living(accounts: Sequence[Account], troubles: Sequence[Trouble], share: float) -> list[Stretch]:
    """Return a load of that share of what those accounts bear that are alive at each moment.

    An account with a quota counts for nothing, before it is used up and after it is reset: how fast it is used is for
    the router to choose, and that an early reset is seen at all is more than anybody could ask.
    """
    moments = {0.0}
    for trouble in troubles:
        moments |= {trouble.at} | (set() if trouble.lasts is None else {trouble.at + trouble.lasts})
    found = []
    for moment in sorted(moments):
        dead = {trouble.account for trouble in troubles if trouble.is_on(moment)}
        alive = [account for account in accounts if account.name not in dead and not account.quota]
        found.append(Stretch(moment, share * total(alive)))
    return found


def times(stretches: Sequence[Stretch], seconds: float) -> list[float]:
    """Return when each request is due, in seconds from the beginning."""
    return list(_times(stretches, seconds))


def _times(stretches: Sequence[Stretch], seconds: float) -> Iterator[float]:
    owed = 0.0
    for number, stretch in enumerate(stretches):
        ends = min(stretches[number + 1].at if number + 1 < len(stretches) else seconds, seconds)
        due = stretch.at + (1.0 - owed) / stretch.rate
        while due < ends:
            yield due
            due += 1.0 / stretch.rate
        # What was still owed when the rate changed is not forgotten.
        owed = max(0.0, 1.0 - (due - ends) * stretch.rate) if ends > stretch.at else owed
