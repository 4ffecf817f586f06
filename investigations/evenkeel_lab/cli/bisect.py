"""`evenkeel bisect`: find the LiteLLM release that changed a metric."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from packaging.version import InvalidVersion, Version
from rich.console import Console
from rich.text import Text

from evenkeel_lab.cli.investigate.progress_view import View
from evenkeel_lab.cli.output import show
from evenkeel_lab.compat.releases import between
from evenkeel_lab.errors import RIG_INVALID, ProcessFailed, ScheduleMissed, UnknownVersion, WrongUse
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.bisection.comparison import Plan, compare_releases, random_arrivals
from evenkeel_lab.runner.bisection.search import Result, search
from evenkeel_lab.stack.folders import cache_in_use, log_folder
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stats.metrics import metric_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.bisection.boots import BootEffects

MINUTE = 60.0
NO_CHANGE = 1
DATA, FOLDER = "data", "bisect"


@click.command()
@click.option("--good", required=True, metavar="VERSION", help="A release before the change.")
@click.option("--bad", required=True, metavar="VERSION", help="A release with the change.")
@click.option("--figure", default="p50", show_default=True, help="The metric that changed.")
@click.option(
    "--margin",
    default=3.0,
    show_default=True,
    type=click.FloatRange(0.1, 100),
    help="The smallest change that counts, in per cent, or in points of shares.",
)
@click.option("--releases", metavar="VERSION,...", help="Search among these only; by default, all between both.")
@click.option(
    "--rate",
    default=20.0,
    show_default=True,
    type=click.FloatRange(0.1),
    help="Requests a second, at random moments.",
)
@click.option("--seconds", default=25.0, show_default=True, type=click.FloatRange(1), help="Duration of a run.")
@click.option(
    "--certainty",
    default=97.0,
    show_default=True,
    type=click.FloatRange(50, 99.99),
    help="The probability in per cent at which the search ends.",
)
@click.option(
    "--budget", default=90.0, show_default=True, type=click.FloatRange(1), help="Minutes of the whole search."
)
@click.option("--fresh", is_flag=True, help="Begin again instead of resuming a stopped search.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of sentences.")
@click.pass_context
def bisect(  # noqa: PLR0913  # one for each option
    context: click.Context,
    *,
    good: str,
    bad: str,
    figure: str,
    margin: float,
    releases: str | None,
    rate: float,
    seconds: float,
    certainty: float,
    budget: float,
    fresh: bool,
    as_json: bool,
) -> None:
    """Find the first LiteLLM release with a change, by pairs of proxies: each release beside the good one.

    Two boots of a release may differ, so both are booted anew for each run, until the answer is certain enough. The
    exit code is 1 if no change was found, and 3 if the search has no answer. The same command resumes a search that was
    stopped.
    """
    if metric_named(figure).is_of_functions:
        raise WrongUse(f"{figure} is a metric of functions, and proxies have none.", hint="Name one such as cpu_ms.")
    chosen = ordered(good, bad, releases)
    folder = home().parent / DATA / FOLDER / f"{good}-{bad}-{figure}"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    plan = Plan(good, figure, random_arrivals(rate, seconds), folder, lambda release: {"litellm": release})
    steps = shown_on(Console(stderr=True))
    with cache_in_use():
        searching = Searching(plan, steps, time.monotonic() + budget * MINUTE, is_silent=as_json)
        names = asyncio.run(_releases(steps, chosen, is_complete=releases is not None))
        result = asyncio.run(search(names, searching.measure, margin / 100, certainty / 100))
    if as_json:
        click.echo(json.dumps(document(result, names)))
    else:
        show(sentences(result, good, bad, figure))
    context.exit(RIG_INVALID if not result.is_certain else 0 if result.first_bad else NO_CHANGE)


def ordered(good: str, bad: str, releases: str | None) -> list[str]:
    """Return the given releases in their order, or both ends if none are given."""
    names = [good, *(filter(None, (releases or "").replace(",", " ").split())), bad]
    for name in names:
        require_allowed(name)
    try:
        by_version = {Version(name): name for name in names}
    except InvalidVersion as error:
        raise WrongUse(f"{error}.", hint="A version is such as 1.108.7.") from error
    within = [by_version[version] for version in sorted(by_version) if Version(good) <= version <= Version(bad)]
    if Version(good) >= Version(bad):
        raise WrongUse(f"{good} is not older than {bad}.", hint="--good names the older release.")
    return within


async def _releases(steps: Steps, chosen: Sequence[str], *, is_complete: bool) -> list[str]:
    names = list(chosen)
    if not is_complete:
        with steps.step("reading the releases from the registry"):
            names = await between(names[0], names[-1], log_folder() / "uv.log")
    click.echo(f"{len(names) - 2} releases between {names[0]} and {names[-1]}", err=True)
    return names


@dataclass
class Searching:
    """A search, which has to end within a time."""

    plan: Plan
    steps: Steps
    until: float
    """The end of its time, by the monotonic clock."""
    is_silent: bool = False

    def is_late(self) -> bool:
        """Return whether there is no time for another boot."""
        return time.monotonic() + self.plan.boot_seconds > self.until

    async def measure(self, release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects | None:
        """Compare a release with the good one, until `is_enough` or until the time is over."""
        console = Console(stderr=True)
        try:
            with View(console, self.plan.investigation(release)) as view:
                effects = await compare_releases(
                    self.plan, release, is_enough, is_late=self.is_late, steps=self.steps, listener=view
                )
        except (ProcessFailed, UnknownVersion, ScheduleMissed) as error:
            console.print(Text(f"{release} could not be compared: {error}"), soft_wrap=True)
            return None
        if self.is_late():
            console.print("There is no time left for another boot.")
        if not self.is_silent:
            show(f"{release}: {self.plan.figure} {effects.text} against {self.plan.good}")
        return effects


def sentences(result: Result, good: str, bad: str, figure: str) -> Text:
    """Return the result as text."""
    if result.belief is None or not result.effects[bad].effects:
        return Text(f"{bad} could not be compared with {good}.")
    effect = result.effects[bad].text
    probability = f"with a probability of {result.belief.probability:.0%}"
    if result.first_bad:
        lines = [f"{result.first_bad} is the first release with the change, {probability}."]
        lines.append(f"{figure} {effect} from {good} to {bad}.")
    else:
        lines = [f"No change of {figure} from {good} to {bad}, {probability}: {effect}."]
    if result.skipped:
        lines.append(f"These could not be measured, and may already have the change: {', '.join(result.skipped)}.")
    if not result.is_certain:
        lines.append("That is less certain than --certainty. The same command with more --budget continues.")
    return Text("\n".join(lines))


def document(result: Result, names: Sequence[str]) -> dict[str, Any]:
    """Return the result as a JSON document."""
    belief = result.belief
    return {
        "releases": list(names),
        "first_bad": result.first_bad or None,
        "last_good": result.last_good or None,
        "probability": belief and belief.probability,
        "is_certain": result.is_certain,
        "comparisons": [
            {
                "release": release,
                "probability_of_change": belief and belief.has_change(release),
                "median": effects.middle if effects.effects else None,
                "boots": list(effects.effects),
            }
            for release, effects in result.effects.items()
        ],
        "skipped": list(result.skipped),
    }
