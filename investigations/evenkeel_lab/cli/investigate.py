"""`evenkeel investigate`: run an investigation, and say what it has found."""

from __future__ import annotations

import asyncio
import json
from threading import Event
from typing import TYPE_CHECKING, Self

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.compare import document, table
from evenkeel_lab.cli.output import results
from evenkeel_lab.comparison import words
from evenkeel_lab.errors import RIG_INVALID, WrongUse
from evenkeel_lab.experiment import find, known, read, template
from evenkeel_lab.experiment.change import quickly, with_pairs, with_versions
from evenkeel_lab.experiment.read import FILE
from evenkeel_lab.profiling.publish import PAGE, publish
from evenkeel_lab.profiling.take import Profiler
from evenkeel_lab.progress import shown_on
from evenkeel_lab.session.session import Session
from evenkeel_lab.session.store import Store, digest
from evenkeel_lab.session.summary import FILE as SUMMARY, gather, write
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.verdicts import LEAST_PAIRS

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from rich.console import RenderableType

    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.session.judge import Judgement
    from evenkeel_lab.session.meetings import Meeting
    from evenkeel_lab.session.run import Run
    from evenkeel_lab.session.summary import Summary

NEW = "new"
DATA = "data"
MINUTE = 60


@click.command()
@click.argument("names", metavar="[NAME | new NAME]", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Say which investigations there are.")
@click.option("--quick", is_flag=True, help="Six short pairs: a first impression, which no report is made of.")
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), help="The last look, instead of the file's.")
@click.option("--litellm", "versions", multiple=True, metavar="VERSION", help="Instead of the file's; may be repeated.")
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on where it was stopped.")
@click.option("--profile", "profiled", is_flag=True, help="Say where the CPU goes: an extra run that never counts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the tables.")
@click.pass_context
def investigate(  # one for each option
    context: click.Context,
    names: tuple[str, ...],
    pairs: int | None,
    versions: tuple[str, ...],
    *,
    listed: bool,
    quick: bool,
    fresh: bool,
    profiled: bool,
    as_json: bool,
) -> None:
    """Run an investigation in pairs, and judge it. The same command goes on where a stopped one was."""
    if listed:
        results().print(listing())
        return
    if len(names) == 2 and names[0] == NEW:  # noqa: PLR2004  # the word and the name
        click.echo(create(names[1]))
        return
    if len(names) != 1:
        raise click.UsageError("Name one investigation; --list says which there are.")
    folder = find(names[0])
    wanted = with_versions(read(folder), versions)
    if pairs:
        wanted = with_pairs(wanted, pairs)
    if quick:
        wanted = quickly(wanted)
    text = wanted.model_dump_json()
    store = Store(folder.parent.parent / DATA / folder.name / digest(text))
    if fresh:
        store.clear()
    console = Console(stderr=True)
    steps, stop = shown_on(console), Event()
    profiler = Profiler(folder.name, wanted, store, steps, stop) if profiled else None
    with View(console, wanted) as view:
        session = Session(folder.name, wanted, text, store, Options.from_env(), steps, view, stop, profiler)
        judgement = asyncio.run(session.conduct())
    # A first impression, or a session of another kind than the file asks for, is nothing to commit.
    summary = keep(store, None if quick or pairs or versions else folder, profiled=profiled)
    if as_json:
        click.echo(json.dumps(told(judgement)))
    else:
        results().print(report(judgement))
        for name in (name for name, told_of in summary.warm_up.items() if not told_of["steady"]):
            click.echo(f"warning: {name} had not settled when the first pair began", err=True)
        click.echo(f"records: {store.folder}")
        if profiled:
            click.echo(f"profile: {store.folder / PAGE}")
    context.exit(RIG_INVALID if judgement.invalid else 0)


def keep(store: Store, folder: Path | None, *, profiled: bool) -> Summary:
    """Write what a session has found beside its records, and into the investigation's folder if it is to last."""
    summary = gather(store)
    for place in (store.folder, folder):
        if place is not None:
            write(summary, place / SUMMARY)
    if profiled:
        publish(store.folder, folder)
    return summary


def listing() -> RenderableType:
    """Say which investigations there are."""
    shown = Table(box=None, pad_edge=False, show_header=False)
    for name, folder in known().items():
        shown.add_row(name, read(folder).question)
    return shown if shown.row_count else Text("There are no investigations here: evenkeel investigate new NAME.")


def create(name: str) -> Path:
    """Write a new investigation to begin with."""
    there = next(iter(known().values()), None)
    if there is None:
        raise WrongUse("There is no folder `investigations` here.", cure="Go to the project's folder.")
    place = there.parent / name
    if place.exists():
        raise WrongUse(f"{place} exists already.", cure="Choose another name.")
    place.mkdir()
    path = place / FILE
    path.write_text(template(name), encoding="utf-8")
    try:
        read(place)
    except WrongUse:
        path.unlink()
        place.rmdir()
        raise
    return path


def report(judgement: Judgement) -> RenderableType:
    """Return the tables of all comparisons, and what invalidates them."""
    parts: list[RenderableType] = []
    for one in judgement.comparisons:
        parts += [table(one), Text()]
    parts += [Text(f"invalid: {why}", style="bold yellow") for why in judgement.invalid]
    return Group(*parts)


def told(judgement: Judgement) -> dict[str, object]:
    """Return the same for a program."""
    return {
        "comparisons": [document(one) for one in judgement.comparisons],
        "settled": judgement.settled,
        "invalid": list(judgement.invalid),
    }


class View:
    """What is known so far: a table that is rewritten on a terminal, a line for each meeting elsewhere."""

    def __init__(self, console: Console, investigation: Investigation) -> None:
        self._console = console
        self._last = investigation.session.looks[-1]
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the table away."""
        if self._live is not None and self._live.is_started:
            self._live.stop()

    def meeting(self, meeting: Meeting, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Show what a meeting has changed."""
        where = f"pair {meeting.pair} of {self._last}, {_minutes(left)} left"
        limited = [f"{run.arm}: {why}" for run in runs for why in run.limited]
        if self._live is not None:
            if not self._live.is_started:
                self._live.start()
            self._live.update(Group(Text(where, style="bold"), report(judgement)), refresh=True)
            return
        estimates = [
            f"{one.candidate} {found.figure.name} {words.effect(found) or 'too few pairs'}"
            for one in judgement.comparisons
            for found in one.figures
            if found.primary
        ]
        self._console.print(f"{where}: {'; '.join([*estimates, *limited])}", highlight=False, markup=False)


def _minutes(seconds: float) -> str:
    return f"{seconds / MINUTE:.0f} min" if seconds > MINUTE else f"{seconds:.0f} s"
