"""The story of the demonstration: which account fails when, and how. Both proxies meet the same."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel_lab.bench.failover.profile import Trouble
from evenkeel_lab.stack.litellm.accounts import PLENTY_RPM, Account

ACCOUNTS = 8
SECONDS = 30.0
# Requests a second at each proxy. The healthy accounts could serve many times as much.
RATE = 8.0
OUTAGE_AT, OUTAGE_SECONDS = 21.0, 4.0


@dataclass(frozen=True)
class Chapter:
    """One fault of one or more accounts, by their numbers from 1."""

    at: float
    accounts: tuple[int, ...]
    fault: str
    """In the syntax of the mock provider."""
    about: str
    lasts: float | None = None
    """Seconds; `None` for the rest of the demonstration."""


CHAPTERS = (
    Chapter(3.0, (1,), "status=429,retry_after=120", "account 1 has used up its quota"),
    Chapter(6.0, (2,), "status=401", "the key of account 2 is revoked"),
    Chapter(9.0, (3,), "hang", "account 3 hangs"),
    Chapter(13.0, (4,), "status=503", "account 4 is overloaded"),
    Chapter(17.0, (5,), "status=403", "account 5 is forbidden"),
    Chapter(
        OUTAGE_AT,
        (6, 7, 8),
        f"status=429,retry_after={OUTAGE_SECONDS:.0f}",
        "all others refuse for 4 seconds",
        OUTAGE_SECONDS,
    ),
)


def accounts(prefix: str) -> tuple[Account, ...]:
    """Return the accounts of one proxy. The mock provider serves both proxies, so their accounts differ by a prefix."""
    return tuple(Account(f"{prefix}-{number}", PLENTY_RPM) for number in range(1, ACCOUNTS + 1))


def troubles(prefix: str) -> tuple[Trouble, ...]:
    """Return the faults of one proxy's accounts."""
    return tuple(
        Trouble(f"{prefix}-{number}", chapter.fault, chapter.at, chapter.lasts)
        for chapter in CHAPTERS
        for number in chapter.accounts
    )


def due_times() -> list[float]:
    """Return when requests are sent, in seconds from the beginning."""
    return [number / RATE for number in range(1, int(SECONDS * RATE))]


def chapters_until(second: float) -> list[Chapter]:
    """Return the chapters that have begun."""
    return [chapter for chapter in CHAPTERS if chapter.at <= second]
