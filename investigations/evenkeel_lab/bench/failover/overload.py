"""The second drill: 120 % of the capacity of all accounts is requested, by four keys of very unequal demand.

A router that spreads the load evenly never runs out of capacity, and would have nothing to recover from. So before the
minute ends, a competing load uses up all accounts, and every request is rejected until their windows open again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, Drill, Intervention, Outcome, Request, run_drill
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

# A minute, and enough time to see accounts used again in the next window.
SECONDS = 80.0
SHARE = 1.2
# By then, the load has reached the limits of the accounts: a router without pacing is beyond them.
EXHAUSTED_AT = 55.0
ACCOUNTS = 8
# Two keys have a demand below an equal share, two above.
WEIGHTS = (1.0, 3.0, 17.0, 19.0)
REFERENCE = "simple-shuffle"
# Shares of the limits of all accounts that count as no capacity, and as enough capacity.
NOTHING, ENOUGH = 0.01, 0.5
STEP, RECOVERED = 0.1, 0.9
RECOVERY_SECONDS = 2.0


def drill(share: float = SHARE, seconds: float = SECONDS, accounts: int = ACCOUNTS) -> Drill:
    """Return the drill that every arm runs."""
    chosen = unequal_accounts(accounts)
    return Drill(chosen, times([Stretch(0.0, share * total(chosen))], seconds), weights=WEIGHTS)


async def bench_overload(
    steps: Steps,
    version: str,
    *,
    seconds: float = SECONDS,
    accounts: int = ACCOUNTS,
    arms: Sequence[str] = (EVENKEEL, REFERENCE),
) -> list[Metric]:
    """Run the drill with all arms, and return the metrics."""
    wanted = drill(seconds=seconds, accounts=accounts)
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        async with stack(wanted.options(), steps=steps) as ground:
            exhaustion = Intervention(EXHAUSTED_AT, use_up(ground.mock.url, wanted.accounts))
            for number, arm in enumerate(arms, 1):
                async with ground.proxy(wanted.subject(arm, version), name=arm, database_number=number) as proxy:
                    with steps.step(
                        f"{arm}: {len(wanted.due):,} requests in {seconds:.0f} s, {SHARE:.0%} of the limits"
                    ):
                        outcomes[arm] = await run_drill(ground, proxy, wanted, Path(name) / arm, [exhaustion])
    first, *others = (metrics_of(wanted, outcome, seconds) for outcome in outcomes.values())
    bounds = {
        "over_limit_share": "<= 0.01",
        "fairness_shortfall": "<= 0.1",
        "modest_keys_served_share": ">= 0.99",
        "recovery_seconds": f"<= {RECOVERY_SECONDS:g}",
        "capacity_used_share": None,
    }
    names = list(outcomes)
    return [
        Metric(
            name,
            first[name][0],
            "s" if name.endswith("_seconds") else "",
            bound,
            "; ".join(
                [
                    first[name][1],
                    *(f"{arm}: {other[name][0]:.3g}" for arm, other in zip(names[1:], others, strict=True)),
                ]
            ),
        )
        for name, bound in bounds.items()
    ]


def metrics_of(wanted: Drill, outcome: Outcome, seconds: float) -> dict[str, tuple[float, str]]:
    """Return the metrics of an arm, each with a note."""
    calm = list(_calm(wanted, outcome, seconds))
    keys = range(len(wanted.weights))
    demands = [sum(request.key == key for request in calm) for key in keys]
    counts = [sum(request.key == key and request.is_served for request in calm) for key in keys]
    served = ", ".join(f"{have} of {want}" for have, want in zip(counts, demands, strict=True))
    over = over_limit(outcome.journal, wanted.accounts)
    worst = max(over, key=lambda name: over[name])
    all_served = sum(request.is_served for request in outcome.requests)
    could = capacity(wanted, seconds) - sum(entry.is_others and entry.is_accepted for entry in outcome.journal)
    return {
        "over_limit_share": (over[worst], f"most: {worst}, by the mock's own windows"),
        "fairness_shortfall": (shortfall(demands, counts), f"served: {served}"),
        "modest_keys_served_share": (modest(demands, counts), f"served: {served}"),
        "recovery_seconds": _recovery(recoveries(wanted, outcome, seconds), seconds),
        "capacity_used_share": (
            min(1.0, all_served / could),
            f"{all_served:,} of {could:,.0f} that could be; {outcome.summary}",
        ),
    }


def _calm(wanted: Drill, outcome: Outcome, seconds: float) -> Iterator[Request]:
    """Yield the requests outside of the time without capacity, in which there are no fair shares."""
    exhausted = min((entry.at for entry in outcome.journal if entry.is_others), default=seconds)
    reset = next((moment for moment in resets(wanted, outcome, seconds) if moment >= exhausted), seconds)
    for request in outcome.requests:
        if request.end < exhausted or request.due >= reset + RECOVERY_SECONDS:
            yield request


def capacity(wanted: Drill, seconds: float) -> float:
    """Return the maximum number of requests that could have been served, with windows from the beginning on."""
    minute = total(wanted.accounts) * MINUTE
    whole, rest = divmod(seconds, MINUTE)
    return whole * minute + min(minute, rest * len(wanted.due) / seconds)


def resets(wanted: Drill, outcome: Outcome, seconds: float) -> list[float]:
    """Return the moments when accounts without capacity had enough again."""
    limit = total(wanted.accounts) * MINUTE
    moments = [number * STEP for number in range(int(seconds / STEP))]
    capacities = left(outcome.journal, wanted.accounts, moments)
    result, exhausted = [], False
    for moment, free in zip(moments, capacities, strict=True):
        if free <= NOTHING * limit:
            exhausted = True
        elif exhausted and free >= ENOUGH * limit:
            exhausted = False
            result.append(moment)
    return result


def recoveries(wanted: Drill, outcome: Outcome, seconds: float) -> list[float]:
    """Return the seconds of each recovery after a reset of accounts without capacity.

    A recovery ends when 90 % of the load, or of the accounts' mean capacity if that is smaller, is served in a second:
    a router that paces the load has recovered too.
    """
    expected = RECOVERED * min(len(wanted.due) / seconds, total(wanted.accounts))
    ends = sorted(request.end for request in outcome.requests if request.is_served)
    return [_recovery_seconds(ends, moment, expected, seconds) for moment in resets(wanted, outcome, seconds)]


def _recovery_seconds(ends: Sequence[float], since: float, expected: float, seconds: float) -> float:
    moment = since
    while moment < seconds and sum(moment <= end < moment + 1 for end in ends) < expected:
        moment += STEP
    return moment - since


def _recovery(durations: Sequence[float], seconds: float) -> tuple[float, str]:
    if not durations:
        return seconds, "not shown: the accounts never ran out"
    return max(durations), f"after {len(durations)} reset{'s' * (len(durations) > 1)} of exhausted accounts"
