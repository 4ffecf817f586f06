"""Whether `evenkeel bisect` finds regressions that were planted into a LiteLLM, and none where there is none."""

from __future__ import annotations

import random
from threading import Event
from typing import TYPE_CHECKING, Any

from evenkeel_lab.bench.result import Metric
from evenkeel_lab.investigation_spec.arm import Patch
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.bisection.budget import Budget
from evenkeel_lab.runner.bisection.comparison import Plan, compare_releases
from evenkeel_lab.runner.bisection.search import Result, search
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.schedule import ScheduledPair
    from evenkeel_lab.stats.compare import Compared

RELEASES = tuple(f"release-{number}" for number in range(1, 9))
REGRESSIONS = (0.05, 0.10) * 5
WITHOUT = 20
FIGURE, MARGIN = "cpu_ms", 0.03
LOAD = {"users": 4, "duration": 15.0}
MOST_PAIRS, BUDGET_SECONDS = 24, 15 * 60.0
FOLDER = "bench-bisect"


async def bench_bisect(
    steps: Steps, *, regressions: Sequence[float] = REGRESSIONS, without: int = WITHOUT
) -> list[Metric]:
    """Run the searches. They take hours; those that are done are not repeated when the benchmark is run again."""
    correct, late, notes = 0, 0, []
    for number, share in enumerate(regressions):
        planted = random.Random(number).randrange(1, len(RELEASES))
        with steps.step(f"search {number + 1} of {len(regressions)}: {share:.0%} in {RELEASES[planted]}"):
            result, budget = await _search(f"planted-{number}", share, planted)
        correct += result.first_bad == RELEASES[planted]
        late += budget.is_over
        notes.append(f"{share:.0%} in {RELEASES[planted]}: {result.first_bad or 'none'}")
    wrong = 0
    for number in range(without):
        with steps.step(f"search {number + 1} of {without} without a regression"):
            result, _ = await _search(f"none-{number}", 0.0, 1)
        wrong += bool(result.first_bad)
    return [
        Metric("planted_found_share", correct / max(len(regressions), 1), "", ">= 0.9", "; ".join(notes)),
        Metric("searches_over_budget", late, "", "<= 0", f"{BUDGET_SECONDS / 60:.0f} minutes each"),
        Metric("false_alarm_share", wrong / max(without, 1), "", "<= 0.05", f"{wrong} of {without} searches"),
    ]


async def _search(name: str, share: float, planted: int) -> tuple[Result, Budget]:
    def arm_of(release: str) -> dict[str, Any]:
        own = share if RELEASES.index(release) >= planted else 0.0
        return {"litellm": DEFAULT_VERSION, "patch": Patch.SLOWER, "env": {"SLOWER_SHARE": f"{own:g}"}}

    plan = Plan(RELEASES[0], FIGURE, LOAD, MOST_PAIRS, home().parent / "data" / FOLDER / name, arm_of)
    budget = Budget(BUDGET_SECONDS)

    async def measure(release: str, margin: float, left: int) -> Compared | None:
        with budget.share(left) as seconds:
            return await compare_releases(
                plan, release, margin, seconds, steps=Silent(), listener=_Unheard(), stop=Event()
            )

    return await search(RELEASES, measure, MARGIN), budget


class _Unheard:
    """A listener to the progress of a session that does nothing."""

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        pass
