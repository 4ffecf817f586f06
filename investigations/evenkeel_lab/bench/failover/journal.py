"""The provider's journal: the attempts at each account, and those beyond its limit.

The mock's windows open with the first accepted attempt, and last a minute. Attempts that it rejects for no other reason
are beyond the limit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
