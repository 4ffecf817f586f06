"""The provider's journal: the attempts at each account, and those beyond its limit.

The mock's windows open with the first accepted attempt, and last a minute. Attempts that it rejects for no other reason
are beyond the limit.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.bench.failover.profile import Trouble
    from evenkeel_lab.stack.litellm.accounts import Account

MINUTE = 60.0
# 499: the attempt was accepted, and the client left.
ACCEPTED = (200, 499)
REFUSED = 429
# The model of the competing load, which distinguishes it. No proxy of a drill has it.
OTHERS = "gpt-4o"
NS = 1e9


@dataclass(frozen=True)
class Entry:
    """An attempt at an account."""

    account: str
    at: float
    """Seconds from the beginning of the drill."""
    status: int
    fault: str
    """The injected fault; empty without one."""
    is_others: bool = False
    """Whether it is part of the competing load."""

    @property
    def is_accepted(self) -> bool:
        """Whether it counts in the account's windows."""
        return self.status in ACCEPTED

    @property
    def is_beyond_limit(self) -> bool:
        """Whether it was rejected because the account had nothing left."""
        return self.status == REFUSED and not self.fault


@dataclass
class Window:
    """A minute of an account."""

    opened: float
    accepted: int = 0
    beyond: int = 0
    """Rejected attempts beyond the limit, unless others have used the window too, which no router could know."""
    is_shared: bool = False


def read(text: str, start_ns: int) -> list[Entry]:
    """Parse the mock's journal, in the order of receipt."""
    lines: Iterable[dict[str, Any]] = (json.loads(line) for line in text.splitlines())
    return [
        Entry(
            line["account"],
            (line["received_ns"] - start_ns) / NS,
            line["status"],
            line["fault"],
            line["model"] == OTHERS,
        )
        for line in lines
        if line["account"]
    ]


def windows(journal: Sequence[Entry]) -> Mapping[str, list[Window]]:
    """Return the windows of each account, in their order."""
    by_account: dict[str, list[Window]] = {}
    for entry in journal:
        own = by_account.setdefault(entry.account, [])
        open_ = own[-1] if own and entry.at < own[-1].opened + MINUTE else None
        if entry.is_accepted:
            if open_ is None:
                open_ = Window(entry.at)
                own.append(open_)
            open_.accepted += 1
            open_.is_shared |= entry.is_others
        elif entry.is_beyond_limit and open_ is not None and not (open_.is_shared or entry.is_others):
            open_.beyond += 1
    return by_account


def over_limit(journal: Sequence[Entry], accounts: Sequence[Account]) -> dict[str, float]:
    """Return the overshoot of each account as a share of its limit, in its worst minute."""
    by_account = windows(journal)
    return {
        account.name: max(
            (
                max(0, window.accepted + window.beyond - account.rpm) / account.rpm
                for window in by_account.get(account.name, [])
            ),
            default=0.0,
        )
        for account in accounts
    }


def left(journal: Sequence[Entry], accounts: Sequence[Account], moments: Sequence[float]) -> list[int]:
    """Return the requests that all accounts together would have accepted, at each of `moments` in their order."""
    used = {account.name: Window(-MINUTE) for account in accounts}
    limits = {account.name: account.rpm for account in accounts}
    entries = iter(sorted((entry for entry in journal if entry.is_accepted), key=lambda entry: entry.at))
    free = []
    entry = next(entries, None)
    for moment in moments:
        while entry is not None and entry.at <= moment:
            window = used[entry.account]
            if entry.at >= window.opened + MINUTE:
                used[entry.account] = window = Window(entry.at)
            window.accepted += 1
            entry = next(entries, None)
        free.append(
            sum(
                limits[name] - (window.accepted if moment < window.opened + MINUTE else 0)
                for name, window in used.items()
            )
        )
    return free


def could_serve(
    journal: Sequence[Entry],
    accounts: Sequence[Account],
    troubles: Sequence[Trouble],
    moments: Sequence[float],
    resets: Mapping[str, float],
) -> list[bool]:
    """Return whether some account without a fault had room for a request, at each of `moments` in their order.

    `resets` is the time at which the windows of an account were emptied before their end.
    """
    uses = {account.name: _Uses(account, resets.get(account.name)) for account in accounts}
    entries = iter(sorted((entry for entry in journal if entry.is_accepted), key=lambda entry: entry.at))
    result = []
    entry = next(entries, None)
    for moment in moments:
        while entry is not None and entry.at <= moment:
            uses[entry.account].add(entry.at)
            entry = next(entries, None)
        faulty = {trouble.account for trouble in troubles if trouble.is_on(moment)}
        result.append(any(of_account.has_room(moment) for name, of_account in uses.items() if name not in faulty))
    return result


class _Uses:
    """Accepted requests of an account: in its current minute, and of its quota."""

    def __init__(self, account: Account, reset: float | None) -> None:
        self._rpm, self._quota = account.rpm, account.quota.get("requests", math.inf)
        self._reset = math.inf if reset is None else reset
        self._minute, self._of_quota = Window(-MINUTE), 0

    def add(self, at: float) -> None:
        self._pass_time(at)
        if at >= self._minute.opened + MINUTE:
            self._minute = Window(at)
        self._minute.accepted += 1
        self._of_quota += 1

    def has_room(self, at: float) -> bool:
        self._pass_time(at)
        is_open = at < self._minute.opened + MINUTE
        return self._of_quota < self._quota and not (is_open and self._minute.accepted >= self._rpm)

    def _pass_time(self, at: float) -> None:
        if at >= self._reset:
            self._reset, self._minute, self._of_quota = math.inf, Window(-MINUTE), 0


def lanes(
    journal: Sequence[Entry], accounts: Sequence[Account], troubles: Sequence[Trouble], seconds: float
) -> dict[str, dict[str, list[int]]]:
    """Return the attempts at each account in each second, by what became of them.

    `served` were accepted, `over_limit` were rejected because the account had nothing left, and `failed` met a fault.
    `faulty` is 1 in the seconds in which the account had a fault.
    """
    columns = range(math.ceil(seconds))
    counts = {
        account.name: {
            "faulty": [
                int(any(trouble.account == account.name and trouble.is_on(second) for trouble in troubles))
                for second in columns
            ],
            **{kind: [0] * len(columns) for kind in ("served", "over_limit", "failed")},
        }
        for account in accounts
    }
    for entry in journal:
        if 0 <= entry.at < seconds and not entry.is_others:
            kind = "failed" if entry.fault else "over_limit" if entry.is_beyond_limit else "served"
            counts[entry.account][kind][int(entry.at)] += 1
    return counts
