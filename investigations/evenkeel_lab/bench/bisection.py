"""Whether `evenkeel bisect` finds regressions that were planted into a LiteLLM, and none where there is none.

The search does not know the planted release: all releases have the same patch, and differ in one of its settings only.
"""

from __future__ import annotations

import json
import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.arm import Patch
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.bisection.comparer import Comparer
from evenkeel_lab.runner.bisection.comparison import PAIRS_PER_BOOT, WARM_UP, Plan, known_effects, random_arrivals
from evenkeel_lab.runner.bisection.search import CERTAINTY, LEAST_BOOTS, search
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel_lab.progress import Steps

RELEASES = tuple(f"release-{number}" for number in range(1, 6))
REGRESSIONS = (0.05, 0.10) * 5
WITHOUT_REGRESSION = 20
METRIC, MARGIN = "cpu_ms", 0.03
LOAD, BUDGET_SECONDS = random_arrivals(), 90 * 60.0
FOLDER, LEDGER, SCHEMA = "bench-bisect", "bisect_searches.json", 6
SETTINGS = {
    "litellm": DEFAULT_VERSION,
    "releases": len(RELEASES),
    "metric": METRIC,
    "margin": MARGIN,
    "load": LOAD,
    "warm_up": WARM_UP,
    "pairs_per_boot": PAIRS_PER_BOOT,
    "least_boots": LEAST_BOOTS,
    "certainty": CERTAINTY,
    "budget": BUDGET_SECONDS,
}


async def bench_bisect(
    steps: Steps, *, regressions: Sequence[float] = REGRESSIONS, without: int = WITHOUT_REGRESSION
) -> list[Metric]:
    """Run the searches. They take hours, so each is written to `LEDGER` when it is done, and each boot to `FOLDER`.

    What is there is not measured again. Delete the ledger to begin again.
    """
    planned = [
        *((f"planted-{number}", share, planted_in(number)) for number, share in enumerate(regressions)),
        *((f"none-{number}", 0.0, 0) for number in range(without)),
    ]
    ledger = _read_ledger(home() / LEDGER)
    if not (home() / LEDGER).is_file():
        shutil.rmtree(_boots_folder(), ignore_errors=True)
        _write_ledger(ledger)
    for number, (name, share, planted) in enumerate(planned, 1):
        if name not in ledger.searches:
            what = f"{share:.0%} in {RELEASES[planted]}" if share else "no regression"
            with steps.step(f"search {number} of {len(planned)}: {what}"):
                ledger.searches[name] = await _search(name, share, planted)
            _write_ledger(ledger)
    return _metrics([ledger.searches[name] for name, _, _ in planned])


def planted_in(number: int) -> int:
    """Return the position of the release with the regression of a search: each but the first has two in turn."""
    return 1 + number // len(set(REGRESSIONS)) % (len(RELEASES) - 1)


class Search(BaseModel):
    """One search that is done."""

    share: float
    planted_in: str
    """The release with the regression; empty without one."""
    first_bad: str
    """The release that was found; empty if none was."""
    is_certain: bool
    """Whether the search ended by itself. If not, it is no result that none was found."""
    probability: float
    """The probability of the result, by the search itself."""
    comparisons: list[str]
    """Each comparison: the release and its effects."""
    seconds: float
    day: str
    commit: str

    @property
    def is_correct(self) -> bool:
        """Whether the search has found what was planted, or nothing if nothing was."""
        return self.is_certain and self.first_bad == self.planted_in


class Ledger(BaseModel):
    """All searches that are done, by name, and the settings that they have in common."""

    settings: dict[str, Any]
    searches: dict[str, Search]


def _read_ledger(path: Path) -> Ledger:
    """Return the ledger; an empty one if there is none. Searches with other settings cannot be counted together."""
    if not path.is_file():
        return Ledger(settings=SETTINGS, searches={})
    ledger = parse_json(Ledger, read_text(path, _wrong), LEDGER, _wrong, SCHEMA)
    if ledger.settings != SETTINGS:
        raise _wrong(f"The searches in {LEDGER} have other settings.")
    return ledger


def _write_ledger(ledger: Ledger) -> None:
    replace_text(home() / LEDGER, json.dumps({"schema": SCHEMA, **ledger.model_dump()}, indent=1) + "\n")


def _wrong(what: str) -> WrongUse:
    return WrongUse(what, hint="Delete it to run all searches again.")


def _metrics(searches: Sequence[Search]) -> list[Metric]:
    with_regression = [each for each in searches if each.share]
    without = [each for each in searches if not each.share]
    correct = sum(each.is_correct for each in with_regression)
    alarms = sum(each.is_certain and bool(each.first_bad) for each in without)
    unmeasured = sum(not each.is_certain for each in searches)
    late = sum(each.seconds > BUDGET_SECONDS for each in searches)
    results = "; ".join(
        f"{each.share:.0%} in {each.planted_in}: {each.first_bad or 'none'}" for each in with_regression
    )
    longest = max((each.seconds for each in searches), default=0.0)
    budget = f"{BUDGET_SECONDS / 60:.0f} minutes each; the longest took {longest / 60:.1f}"
    return [
        Metric("planted_found_share", correct / max(len(with_regression), 1), "", ">= 0.9", results),
        Metric("searches_over_budget", late, "", "<= 0", budget),
        Metric("false_alarm_share", alarms / max(len(without), 1), "", "<= 0.05", f"{alarms} of {len(without)}"),
        Metric("searches_without_result", unmeasured, "", "<= 0", f"of {len(searches)} searches"),
    ]


def _boots_folder() -> Path:
    return home().parent / "data" / FOLDER


async def _search(name: str, share: float, planted: int) -> Search:
    def arm_of(release: str) -> dict[str, Any]:
        own = share if RELEASES.index(release) >= planted else 0.0
        return {"litellm": DEFAULT_VERSION, "patch": Patch.SLOWER, "env": {"SLOWER_SHARE": f"{own:g}"}}

    plan = Plan(RELEASES[0], METRIC, LOAD, _boots_folder() / name, arm_of)
    known = known_effects(plan, RELEASES[1:])
    # A search that was stopped has used the time of its boots.
    used = sum(len(plan.store_of(release).done()) for release in known) * plan.boot_seconds
    began = time.monotonic() - used
    comparer = Comparer(plan, Silent(), began + BUDGET_SECONDS, report=lambda _: None)
    result = await search(RELEASES, comparer.measure, MARGIN, CERTAINTY, known)
    origin = provenance(engine="")
    return Search(
        share=share,
        planted_in=RELEASES[planted] if share else "",
        first_bad=result.first_bad,
        is_certain=result.is_certain,
        probability=result.belief.probability if result.belief else 0.0,
        comparisons=[f"{release}: {effects.text}" for release, effects in result.effects.items()],
        seconds=time.monotonic() - began,
        day=datetime.now(tz=UTC).date().isoformat(),
        commit=origin.commit + (", and changes beside it" if origin.dirty else ""),
    )
