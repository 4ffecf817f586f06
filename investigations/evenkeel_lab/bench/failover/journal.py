"""What the provider has written down: which account was asked when, and how far beyond its limit.

The mock's windows open with the first request that is let in while none is open, and last a minute. Whatever it
refuses for no other reason came beyond the limit, so that the tries of a window are what was let in and what was not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.stack.litellm.accounts import Account

MINUTE = 60.0
# A client that left was let in before.
LET_IN = (200, 499)
REFUSED = 429
# The model that others ask for, so that what they have used can be told apart. No proxy of a drill has it.
OTHERS = "gpt-4o"
NS = 1e9


@dataclass(frozen=True)
class Entry:
    """One try."""

    account: str
    at: float
    """Seconds from the beginning of the drill."""
    status: int
    fault: str
    """The fault that it suffered; empty for none."""
    is_others: bool = False
    """Whether it came past the proxy, from somebody else who uses the account."""

    @property
    def is_let_in(self) -> bool:
        """Whether it counts in the account's windows."""
        return self.status in LET_IN

    @property
    def is_beyond(self) -> bool:
        """Whether it was refused because the account had nothing left."""
        return self.status == REFUSED and not self.fault


@dataclass
class Window:
    """One minute of one account."""

    opened: float
    let_in: int = 0
    beyond: int = 0
    """What was refused as beyond the limit, as long as nobody else had used the window: then nobody could know."""
    is_shared: bool = False


def read(text: str, start_ns: int) -> list[Entry]:
    """Read the mock's journal, in the order of receipt."""
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
    """Return each account's minutes, in their order."""
    found: dict[str, list[Window]] = {}
    for entry in journal:
        own = found.setdefault(entry.account, [])
        open_ = own[-1] if own and entry.at < own[-1].opened + MINUTE else None
        if entry.is_let_in:
            if open_ is None:
                open_ = Window(entry.at)
                own.append(open_)
            open_.let_in += 1
            open_.is_shared |= entry.is_others
        elif entry.is_beyond and open_ is not None and not (open_.is_shared or entry.is_others):
            open_.beyond += 1
    return found


def over_limit(journal: Sequence[Entry], accounts: Sequence[Account]) -> dict[str, float]:
    """Return by which share of its limit each account was asked for more than that, in its worst minute."""
    there = windows(journal)
    return {
        account.name: max(
            (max(0, one.let_in + one.beyond - account.rpm) / account.rpm for one in there.get(account.name, [])),
            default=0.0,
        )
        for account in accounts
    }


def left(journal: Sequence[Entry], accounts: Sequence[Account], moments: Sequence[float]) -> list[int]:
    """Return how many requests all accounts together would have let in, at each of these moments in their order."""
    used = {account.name: Window(-MINUTE) for account in accounts}
    limits = {account.name: account.rpm for account in accounts}
    entries = iter(sorted((entry for entry in journal if entry.is_let_in), key=lambda entry: entry.at))
    found = []
    entry = next(entries, None)
    for moment in moments:
        while entry is not None and entry.at <= moment:
            window = used[entry.account]
            if entry.at >= window.opened + MINUTE:
                used[entry.account] = window = Window(entry.at)
            window.let_in += 1
            entry = next(entries, None)
        found.append(
            sum(limits[name] - (one.let_in if moment < one.opened + MINUTE else 0) for name, one in used.items())
        )
    return found
