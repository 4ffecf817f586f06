"""`evenkeel bisect`: find the LiteLLM release that changed a metric."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import TYPE_CHECKING, Any

import click
from packaging.version import Version
from rich.console import Console
from rich.text import Text

from evenkeel_lab.cli.number_range import NumberRange
from evenkeel_lab.cli.output import show
from evenkeel_lab.compat.releases import between
from evenkeel_lab.errors import RIG_INVALID, WrongUse
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.bisection.comparer import Comparer
from evenkeel_lab.runner.bisection.comparison import RATE, SECONDS, Plan, known_effects, random_arrivals
from evenkeel_lab.runner.bisection.search import CERTAINTY, Result, search
from evenkeel_lab.runner.measurement.latency_summary import LEAST_BEYOND
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.stack.folders import cache_in_use, log_folder
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stats.metrics import metric_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps

MINUTE = 60.0
NO_CHANGE = 1
# A quantile needs this many times the least requests beyond it, because the number of requests in a run varies.
QUANTILE, ROOM = re.compile(r"p([0-9.]+)"), 1.2
DATA, FOLDER = "data", "bisect"


@click.command()
@click.option("--good", required=True, metavar="VERSION", help="A release before the change.")
@click.option("--bad", required=True, metavar="VERSION", help="A release with the change.")
@click.option("--figure", default="p50", show_default=True, help="The metric that changed.")
@click.option(
    "--margin",
    default=3.0,
    show_default=True,
    type=NumberRange(0.1, 100),
    help="The smallest change to look for, in per cent, or in points of shares.",
)
@click.option("--releases", metavar="VERSION,...", help="Search among these only; by default, all between both.")
@click.option(
    "--rate",
    default=RATE,
    show_default=True,
    type=NumberRange(1, 1000),
    help="Requests a second, at random moments.",
)
@click.option("--seconds", default=SECONDS, show_default=True, type=NumberRange(1, 3600), help="Duration of a run.")
@click.option(
    "--certainty",
    default=100 * CERTAINTY,
    show_default=True,
    type=NumberRange(50, 99.99),
    help="The probability in per cent at which the search ends.",
)
@click.option("--budget", default=90.0, show_default=True, type=NumberRange(1), help="Minutes until the command ends.")
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
    _require_measurable(figure, rate * seconds)
    chosen = ordered(good, bad, releases)
    folder = home().parent / DATA / FOLDER / f"{good}-{bad}-{figure}"
    plan = Plan(good, figure, random_arrivals(rate, seconds), folder, lambda release: {"litellm": release})
    console = Console(stderr=True)
    steps = shown_on(console)
    store = Store(folder)
    with cache_in_use(), store.claimed():
        if fresh:
            store.clear()
        names = asyncio.run(_releases(steps, chosen, is_complete=releases is not None))
        comparer = Comparer(plan, steps, time.monotonic() + budget * MINUTE, lambda line: _say(console, line))
        known = known_effects(plan, names[1:])
        result = asyncio.run(search(names, comparer.measure, margin / 100, certainty / 100, known))
    if as_json:
        click.echo(json.dumps(document(result, names)))
    else:
        show(sentences(result, good, bad, figure))
    context.exit(RIG_INVALID if not result.is_certain else 0 if result.first_bad else NO_CHANGE)


def _require_measurable(figure: str, requests: float) -> None:
    """Raise if runs of so few requests never have the metric."""
    if metric_named(figure).is_of_functions:
        raise WrongUse(f"{figure} is a metric of functions, and proxies have none.", hint="Name one such as cpu_ms.")
    if quantile := QUANTILE.fullmatch(figure):
        needed = ROOM * LEAST_BEYOND / (1 - float(quantile[1]) / 100)
        if requests < needed:
            raise WrongUse(
                f"{figure} needs {needed:,.0f} requests in a run, and there are about {requests:,.0f}.",
                hint="Give the search more --seconds, or a higher --rate.",
            )


def _say(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)


def ordered(good: str, bad: str, releases: str | None) -> list[str]:
    """Return the given releases in their order, or both ends if none are given."""
    names = [good, *(filter(None, (releases or "").replace(",", " ").split())), bad]
    for name in names:
        require_allowed(name)
    if Version(good) >= Version(bad):
        raise WrongUse(f"{good} is not older than {bad}.", hint="--good names the older release.")
    by_version = {Version(name): name for name in names}
    for version, name in by_version.items():
        if not Version(good) <= version <= Version(bad):
            raise WrongUse(f"{name} is not between {good} and {bad}.", hint="Leave it out of --releases.")
    return [by_version[version] for version in sorted(by_version)]


async def _releases(steps: Steps, chosen: Sequence[str], *, is_complete: bool) -> list[str]:
    names = list(chosen)
    if not is_complete:
        with steps.step("reading the releases from the registry"):
            names = await between(names[0], names[-1], log_folder() / "uv.log")
    click.echo(f"{len(names) - 2} releases between {names[0]} and {names[-1]}", err=True)
    return names


def sentences(result: Result, good: str, bad: str, figure: str) -> Text:
    """Return the result as text."""
    belief = result.belief
    if belief is None or bad not in result.effects:
        return Text(f"{bad} could not be compared with {good}.")
    if not result.first_bad:
        effect = result.effects[bad].text
        lines = [f"No change of {figure} from {good} to {bad}, {_probably(belief.no_change)}: {effect}."]
    else:
        lines = [f"{result.first_bad} is the first release with the change, {_probably(belief.probability)}."]
        if not result.is_certain:
            lines.append(f"That there is a change at all has a probability of {_percent(belief.change)}.")
        booted = result.effects.get(result.first_bad, result.effects[bad])
        lines.append(f"{figure} {booted.text} against {good}.")
    if result.skipped:
        lines.append(f"These could not be measured, and may already have the change: {', '.join(result.skipped)}.")
    if not result.is_certain:
        lines.append("That is less certain than --certainty, or depends on too few boots. The same command continues.")
    return Text("\n".join(lines))


def _probably(probability: float) -> str:
    return f"with a probability of {_percent(probability)}"


def _percent(probability: float) -> str:
    """Return a probability as text. It is never certain."""
    return f"{min(100 * probability, 99.9):.3g} %"


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
