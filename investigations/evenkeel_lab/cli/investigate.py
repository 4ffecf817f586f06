"""`evenkeel investigate`: run an investigation, and say what it has found."""

from __future__ import annotations

import asyncio
import json
import os
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
from evenkeel_lab.notebook.template import FILE as NOTEBOOK, first_notebook
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
@click.option("--quick", is_flag=True, help="Six short pairs: a first impression, of which nothing is committed.")
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), help="The last look, instead of the file's.")
@click.option("--litellm", "versions", multiple=True, metavar="VERSION", help="Instead of the file's; may be repeated.")
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on where it was stopped.")
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
    as_json: bool,
) -> None:
    """Run an investigation in pairs, and judge it. The same command goes on where a stopped one was."""
    if listed:
        results().print(listing())
        return
    if len(names) == 2 and names[0] == NEW:  # noqa: PLR2004  # the word and the name
        click.echo("\n".join(map(str, create(names[1]))))
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
    say_what_is_not_used()
    with View(console, wanted) as view:
        session = Session(folder.name, wanted, text, store, Options(), shown_on(console), view, Event())
        judgement = asyncio.run(session.conduct())
    summary = gather(store)
    write(summary, store.folder / SUMMARY)
    # A first impression, or a session of another kind than the file asks for, is nothing to commit.
    committed = not (quick or pairs or versions)
    if committed:
        write(summary, folder / SUMMARY)
    page = _page(summary, None if known().get(folder.name) == folder and committed else store.folder)
    if as_json:
        click.echo(json.dumps(told(judgement)))
    else:
        results().print(report(judgement))
        for name in (name for name, told_of in summary.warm_up.items() if not told_of["steady"]):
            click.echo(f"warning: {name} had not settled when the first pair began", err=True)
        click.echo(f"records: {store.folder}")
        click.echo(f"report: {page}")
    context.exit(RIG_INVALID if judgement.invalid else 0)


def say_what_is_not_used() -> None:
    """Say which servers of the user's are left alone."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        if os.environ.get(name):
            click.echo(f"{name} is not used: subjects that are measured share no servers.", err=True)


def _page(summary: Summary, place: Path | None) -> Path:
    """Write the report: into a folder, or where all reports lie."""
    from evenkeel_lab.report import render, render_all  # noqa: PLC0415 - it is slow to import, and --help needs none

    if place is not None:
        return render(summary, place)
    rendered = render_all([summary.name])
    rendered.write()
    return rendered.place / f"{summary.name}.md"


def listing() -> RenderableType:
    """Say which investigations there are."""
    shown = Table(box=None, pad_edge=False, show_header=False)
    for name, folder in known().items():
        shown.add_row(name, read(folder).question)
    return shown if shown.row_count else Text("There are no investigations here: evenkeel investigate new NAME.")


def create(name: str) -> list[Path]:
    """Write a new investigation to begin with, and its notebook."""
    there = next(iter(known().values()), None)
    if there is None:
        raise WrongUse("There is no folder `investigations` here.", cure="Go to the project's folder.")
    place = there.parent / name
    if place.exists():
        raise WrongUse(f"{place} exists already.", cure="Choose another name.")
    place.mkdir()
    path, notebook = place / FILE, place / NOTEBOOK
    path.write_text(template(name), encoding="utf-8")
    try:
        read(place)
    except WrongUse:
        path.unlink()
        place.rmdir()
        raise
    notebook.write_text(first_notebook(), encoding="utf-8")
    return [path, notebook]


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
        self._looks = investigation.session.looks
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
        where = f"pair {meeting.pair} of {self._looks[-1]}, {_minutes(left)} left"
        limited = [f"{run.arm}: {why}" for run in runs for why in run.limited]
        if self._live is not None:
            if not self._live.is_started:
                self._live.start()
            lines = [Text(f"invalid: {why}", style="yellow") for why in limited]
            self._live.update(Group(Text(where, style="bold"), self._so_far(judgement), *lines), refresh=True)
            return
        told = [f"{one} {estimate}" for one, _, estimate in _estimates(judgement)]
        self._console.print(f"{where}: {'; '.join([*told, *limited])}", highlight=False, markup=False, soft_wrap=True)

    def _so_far(self, judgement: Judgement) -> Table:
        """Return the estimates. No verdicts: before a look that was declared there is none."""
        shown = Table(box=None, pad_edge=False, show_header=False)
        for row in _estimates(judgement):
            shown.add_row(*row)
        looks = " or ".join(map(str, self._looks))
        shown.caption, shown.caption_justify = f"judged after {looks} pairs", "left"
        return shown


def _estimates(judgement: Judgement) -> list[tuple[str, str, str]]:
    """Say of each two arms how many valid pairs they have, and what their primary figure is about to say."""
    found = []
    for one in judgement.comparisons:
        primary = next((figure for figure in one.figures if figure.primary), None)
        estimate = words.estimate(primary) if primary else "; ".join(one.warnings)
        found.append((f"{one.candidate} against {one.baseline}", f"{one.pairs} pairs", estimate))
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds / MINUTE:.0f} min" if seconds > MINUTE else f"{seconds:.0f} s"
