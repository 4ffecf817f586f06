"""Whether `evenkeel bisect` finds regressions that were planted into a LiteLLM, and none where there is none."""

from __future__ import annotations

import random
from threading import Event
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, RootModel

from evenkeel_lab.atomic_files import replace_text
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
FOLDER, LEDGER = "bench-bisect", "bisect_searches.json"


async def bench_bisect(
    steps: Steps, *, regressions: Sequence[float] = REGRESSIONS, without: int = WITHOUT
) -> list[Metric]:
    """Run the searches. They take hours, so each is kept when it is done: delete `LEDGER` to run all of them again."""
    planned = [
        *((f"planted-{number}", share, _planted_in(number)) for number, share in enumerate(regressions)),
        *((f"none-{number}", 0.0, 0) for number in range(without)),
    ]
    searches = []
    for number, (name, share, planted) in enumerate(planned, 1):
        what = f"{share:.0%} in {RELEASES[planted]}" if share else "no regression"
        with steps.step(f"search {number} of {len(planned)}: {what}"):
            searches.append(await _kept(name, share, planted))
    with_regression = [search for search in searches if search.share]
    correct = sum(search.first_bad == search.planted_in for search in with_regression)
    wrong = sum(bool(search.first_bad) for search in searches if not search.share)
    notes = "; ".join(f"{each.share:.0%} in {each.planted_in}: {each.first_bad or 'none'}" for each in with_regression)
    late = sum(search.is_late for search in with_regression)
    return [
        Metric("planted_found_share", correct / max(len(with_regression), 1), "", ">= 0.9", notes),
        Metric("searches_over_budget", late, "", "<= 0", f"{BUDGET_SECONDS / 60:.0f} minutes each"),
        Metric("false_alarm_share", wrong / max(without, 1), "", "<= 0.05", f"{wrong} of {without} searches"),
    ]


def _planted_in(number: int) -> int:
    return random.Random(number).randrange(1, len(RELEASES))


class Search(BaseModel):
    """One search that is done."""

    share: float
    planted_in: str
    """The release with the regression; empty without one."""
    first_bad: str
    """The release that was found; empty if none was."""
    is_late: bool


class Ledger(RootModel[dict[str, Search]]):
    """All searches that are done, by name."""


async def _kept(name: str, share: float, planted: int) -> Search:
    """Return a search from the ledger; run it and write it there if it is missing."""
    path = home() / LEDGER
    ledger = Ledger.model_validate_json(path.read_bytes()) if path.is_file() else Ledger({})
    if name not in ledger.root:
        result, budget = await _search(name, share, planted)
        planted_in = RELEASES[planted] if share else ""
        done = Search(share=share, planted_in=planted_in, first_bad=result.first_bad, is_late=budget.is_over)
        ledger.root[name] = done
        replace_text(path, ledger.model_dump_json(indent=1) + "\n")
    return ledger.root[name]


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
