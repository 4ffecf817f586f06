"""The second part: 120 % of what all accounts bear is asked for, by four keys of very unequal demand.

A router that spreads what it has never has nothing left, and nothing to recover from. So before their minute ends
somebody else uses up what is left of all accounts, and all that is asked for is refused until their windows open anew.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, Act, Drill, Outcome, Request, go
from evenkeel_lab.bench.failover.competing_load import use_up
from evenkeel_lab.bench.failover.fairness import modest, shortfall
from evenkeel_lab.bench.failover.journal import left, over_limit
from evenkeel_lab.bench.failover.profile import MINUTE, Stretch, times, total
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.litellm.accounts import unequal_accounts
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel_lab.progress import Steps

# A minute, and so much more that a window that has ended is seen to be used again.
SECONDS = 80.0
SHARE = 1.2
# By then the accounts could not bear what is asked for any more: whoever does not pace it is beyond their limits.
DRIED_AT = 55.0
# Two keys ask for less than an equal share of what there is, two for more.
WEIGHTS = (1.0, 3.0, 17.0, 19.0)
REFERENCE = "simple-shuffle"
# Of all that accounts may be asked for: so much is nothing, and so much is enough to serve what is asked.
NOTHING, ENOUGH = 0.01, 0.5
STEP, RECOVERED = 0.1, 0.9
RECOVERY_SECONDS = 2.0


def drill(share: float = SHARE, seconds: float = SECONDS, accounts: int = 8) -> Drill:
    """Return what every arm goes through."""
    chosen = unequal_accounts(accounts)
    return Drill(chosen, times([Stretch(0.0, share * total(chosen))], seconds), weights=WEIGHTS)


async def bench_overload(
    steps: Steps, version: str, *, seconds: float = SECONDS, arms: Sequence[str] = (EVENKEEL, REFERENCE)
) -> list[Metric]:
    """Measure."""
    wanted = drill(seconds=seconds)
    found: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        async with stack(wanted.options(), steps=steps) as ground:
            drying = Act(DRIED_AT, use_up(ground.mock.url, wanted.accounts))
            for number, arm in enumerate(arms, 1):
                async with ground.proxy(wanted.subject(arm, version), name=arm, database_number=number) as proxy:
                    with steps.step(
                        f"{arm}: {len(wanted.due):,} requests in {seconds:.0f} s, {SHARE:.0%} of the limits"
                    ):
                        found[arm] = await go(ground, proxy, wanted, Path(name) / arm, [drying])
    first, *others = (figures(wanted, outcome, seconds) for outcome in found.values())
    bounds = {
        "over_limit_share": "<= 0.01",
        "fairness_shortfall": "<= 0.1",
        "modest_keys_served_share": ">= 0.99",
        "recovery_seconds": f"<= {RECOVERY_SECONDS:g}",
        "capacity_used_share": None,
    }
    names = list(found)
    return [
        Metric(
            name,
            first[name][0],
            "s" if name.endswith("_seconds") else "",
            bound,
            "; ".join(
                [first[name][1], *(f"{arm}: {one[name][0]:.3g}" for arm, one in zip(names[1:], others, strict=True))]
            ),
        )
        for name, bound in bounds.items()
    ]


def figures(wanted: Drill, found: Outcome, seconds: float) -> dict[str, tuple[float, str]]:
    """Return each figure of an arm, with what to say beside it."""
    calm = list(_calm(wanted, found, seconds))
    keys = range(len(wanted.weights))
    asked = [sum(request.key == key for request in calm) for key in keys]
    got = [sum(request.key == key and request.is_served for request in calm) for key in keys]
    served = ", ".join(f"{have} of {want}" for have, want in zip(got, asked, strict=True))
    over = over_limit(found.journal, wanted.accounts)
    worst = max(over, key=lambda name: over[name])
    all_served = sum(request.is_served for request in found.requests)
    could = capacity(wanted, seconds) - sum(entry.is_others and entry.is_let_in for entry in found.journal)
    return {
        "over_limit_share": (over[worst], f"most: {worst}, by the mock's own windows"),
        "fairness_shortfall": (shortfall(asked, got), f"served: {served}"),
        "modest_keys_served_share": (modest(asked, got), f"served: {served}"),
        "recovery_seconds": _recovery(recoveries(wanted, found, seconds), seconds),
        "capacity_used_share": (
            min(1.0, all_served / could),
            f"{all_served:,} of {could:,.0f} that could be; {found.told}",
        ),
    }


def _calm(wanted: Drill, found: Outcome, seconds: float) -> Iterator[Request]:
    """Return the requests but for those that others have left nothing for: of nothing nobody has a fair share."""
    dried = min((entry.at for entry in found.journal if entry.is_others), default=seconds)
    reset = next((moment for moment in resets(wanted, found, seconds) if moment >= dried), seconds)
    for request in found.requests:
        if request.end < dried or request.due >= reset + RECOVERY_SECONDS:
            yield request


def capacity(wanted: Drill, seconds: float) -> float:
    """Return how many requests could have been served at most, by windows of a minute from the beginning on."""
    minute = total(wanted.accounts) * MINUTE
    whole, rest = divmod(seconds, MINUTE)
    return whole * minute + min(minute, rest * len(wanted.due) / seconds)


def resets(wanted: Drill, found: Outcome, seconds: float) -> list[float]:
    """Return when accounts that had nothing left had enough again."""
    limit = total(wanted.accounts) * MINUTE
    moments = [number * STEP for number in range(int(seconds / STEP))]
    there = left(found.journal, wanted.accounts, moments)
    result, exhausted = [], False
    for moment, free in zip(moments, there, strict=True):
        if free <= NOTHING * limit:
            exhausted = True
        elif exhausted and free >= ENOUGH * limit:
            exhausted = False
            result.append(moment)
    return result


def recoveries(wanted: Drill, found: Outcome, seconds: float) -> list[float]:
    """Return how long it took, each time that accounts which had nothing left were reset, until all was well again.

    Well means that in a second as much is served as is asked for, or as the accounts bear in the long run, but for a
    tenth: a router that paces what it has is well too.
    """
    expected = RECOVERED * min(len(wanted.due) / seconds, total(wanted.accounts))
    ends = sorted(request.end for request in found.requests if request.is_served)
    return [_until_well(ends, moment, expected, seconds) for moment in resets(wanted, found, seconds)]


def _until_well(ends: Sequence[float], since: float, expected: float, seconds: float) -> float:
    moment = since
    while moment < seconds and sum(moment <= end < moment + 1 for end in ends) < expected:
        moment += STEP
    return moment - since


def _recovery(found: Sequence[float], seconds: float) -> tuple[float, str]:
    if not found:
        return seconds, "not shown: the accounts never had nothing left"
    return max(found), f"after {len(found)} reset{'s' * (len(found) > 1)} of accounts that had nothing left"
