"""The first drill: accounts fail one after another, under a load of 90 % of the capacity of the healthy ones."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, STOCK, Drill, Intervention, Outcome, refill, run_drill
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
# Account number, then shares of the drill. The first account has the largest limit, the eighth the smallest.
BURSTS = ((3, 0.09, 0.07), (6, 0.25, 0.07))
REVOKED, FORBIDDEN, HANGING = (7, 0.18), (5, 0.36), (4, 0.5)
QUOTA, RESET = 8, 0.7
# A quota that the account's share of the load uses up in about the first third of the drill.
QUOTA_REQUESTS_A_SECOND = 0.6


def drill(seconds: float = SECONDS) -> Drill:
    """Return the drill that every arm runs."""
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
    """Run the drill with all arms, and return the metrics."""
    wanted = drill(seconds)
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        async with stack(wanted.options(), steps=steps) as ground:
            for number, arm in enumerate(arms, 1):
                outcomes[arm] = await _arm(ground, wanted, arm, version, number, seconds, Path(name))
    return [metric for arm, outcome in outcomes.items() for metric in _metrics(arm, outcome, wanted, seconds)]


async def _arm(
    ground: Stack, wanted: Drill, arm: str, version: str, number: int, seconds: float, folder: Path
) -> Outcome:
    interventions = [Intervention(RESET * seconds, refill(ground, wanted.accounts[QUOTA - 1].name))]
    async with ground.proxy(wanted.subject(arm, version), name=arm, database_number=number) as proxy:
        with ground.steps.step(f"{arm}: {len(wanted.due):,} requests in {seconds:.0f} s, seven troubles"):
            return await run_drill(ground, proxy, wanted, folder / arm, interventions)


def _metrics(arm: str, outcome: Outcome, wanted: Drill, seconds: float) -> list[Metric]:
    name = arm.replace("-", "_")
    is_ours = arm == EVENKEEL
    reset = RESET * seconds
    quota = wanted.accounts[QUOTA - 1].name
    uses = (entry.at - reset for entry in outcome.journal if entry.account == quota and entry.at > reset)
    used_again = min(uses, default=None)
    when = "not used again" if used_again is None else f"first used {used_again:.1f} s"
    note = f"the quota that was reset early: {when} after it"
    return [
        Metric(f"success_share_{name}", outcome.success_share, "", ">= 0.999" if is_ours else None, outcome.summary),
        Metric(f"refusals_seen_{name}", outcome.rejections_seen, "", "<= 0" if is_ours else None, note),
    ]
