"""The first part: accounts fail one after another while 90 % of what the living ones bear is asked for."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, STOCK, Act, Drill, Outcome, go, refill
from evenkeel_lab.bench.failover.profile import Trouble, living, times
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.litellm.accounts import unequal_accounts
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.stack import Stack

SECONDS = 55.0
SHARE = 0.9
# Shares of the drill. Accounts by their number: the first allows most, the eighth least.
BURSTS = ((3, 0.09, 0.07), (6, 0.25, 0.07))
REVOKED, FORBIDDEN, HANGING = (7, 0.18), (5, 0.36), (4, 0.5)
QUOTA, RESET = 8, 0.7
# So few that it is used up in the drill's first third or so, at its share of the load.
QUOTA_REQUESTS_A_SECOND = 0.6


def drill(seconds: float = SECONDS) -> Drill:
    """Return what every arm goes through."""
    accounts = list(unequal_accounts(8))
    least = accounts[QUOTA - 1]
    quota = {"name": "5h", "for": "5h", "requests": round(QUOTA_REQUESTS_A_SECOND * seconds)}
    accounts[QUOTA - 1] = replace(least, quota=quota)

    def name(number: int) -> str:
        return accounts[number - 1].name

    bursts = [
        Trouble(name(number), "status=429,retry_after=2", at * seconds, lasts * seconds) for number, at, lasts in BURSTS
    ]
    deaths = [
        Trouble(name(number), fault, at * seconds)
        for (number, at), fault in ((REVOKED, "status=401"), (FORBIDDEN, "status=403"), (HANGING, "hang"))
    ]
    troubles = (*bursts, *deaths)
    due = times(living(accounts, troubles, SHARE), seconds)
    return Drill(tuple(accounts), due, troubles, weights=(1.0,) * 4)


async def bench_timeline(
    steps: Steps, version: str, *, seconds: float = SECONDS, arms: Sequence[str] = (EVENKEEL, *STOCK)
) -> list[Metric]:
    """Measure."""
    wanted = drill(seconds)
    found: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        async with stack(wanted.options(), steps=steps) as ground:
            for number, arm in enumerate(arms, 1):
                found[arm] = await _arm(ground, wanted, arm, version, number, seconds, Path(name))
    return [metric for arm, outcome in found.items() for metric in _metrics(arm, outcome, wanted, seconds)]


async def _arm(
    ground: Stack, wanted: Drill, arm: str, version: str, number: int, seconds: float, folder: Path
) -> Outcome:
    acts = [Act(RESET * seconds, refill(ground, wanted.accounts[QUOTA - 1].name))]
    async with ground.proxy(wanted.subject(arm, version), name=arm, database_number=number) as proxy:
        with ground.steps.step(f"{arm}: {len(wanted.due):,} requests in {seconds:.0f} s, seven troubles"):
            return await go(ground, proxy, wanted, folder / arm, acts)


def _metrics(arm: str, found: Outcome, wanted: Drill, seconds: float) -> list[Metric]:
    name = arm.replace("-", "_")
    ours = arm == EVENKEEL
    reset = RESET * seconds
    quota = wanted.accounts[QUOTA - 1].name
    used_again = min((one.at - reset for one in found.journal if one.account == quota and one.at > reset), default=None)
    when = "not used again" if used_again is None else f"first used {used_again:.1f} s"
    said = f"the quota that was reset early: {when} after it"
    return [
        Metric(f"success_share_{name}", found.success_share, "", ">= 0.999" if ours else None, found.told),
        Metric(f"refusals_seen_{name}", found.refusals, "", "<= 0" if ours else None, said),
    ]
