"""`evenkeel investigate`: run an investigation, and say what it has found."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.compare import document, table
from evenkeel_lab.cli.investigate.progress_view import View
from evenkeel_lab.cli.investigate.quick_summary import conclusion
from evenkeel_lab.cli.output import results
from evenkeel_lab.errors import RIG_INVALID, LabError, WrongUse
from evenkeel_lab.investigation_spec import books, find, known, name_of, read, read_book, readme, template
from evenkeel_lab.investigation_spec.overrides import least_seconds, quickly, with_pairs, with_versions
from evenkeel_lab.investigation_spec.read import BEGIN, FILE, FOLDER, check_name, find_book, home
from evenkeel_lab.notebook.template import FILE as NOTEBOOK, first_notebook
from evenkeel_lab.profiling.capture import Profiler
from evenkeel_lab.profiling.profile import FILE as PROFILE
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.results.criteria import Outcome, asked, criteria
from evenkeel_lab.runner.results.store import BELIEVED, Store, digest
from evenkeel_lab.runner.results.summary import FILE as SUMMARY, gather, write
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.criteria import Criterion
    from evenkeel_lab.runner.results.summary import Summary

NEW = "new"
DATA, README = "data", "README.md"
# Of a book, of which somebody waits for a first impression; servers and reports take some seconds more.
QUICK_SECONDS = 340.0
CRITERION_FAILED = 1


@click.command()
@click.argument("names", metavar="[NAME | BOOK[/CHAPTER] | new NAME]", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Say which investigations there are.")
@click.option(
    "--quick",
    is_flag=True,
    help="A first impression, of which nothing is committed: six short pairs; of a book, less than six minutes.",
)
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), help="The last look, instead of the file's.")
@click.option(
    "--litellm",
    "versions",
    multiple=True,
    metavar="VERSION",
    help="Instead of the file's; of several, all are compared with the baseline in the first.",
)
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
    """Run an investigation in pairs, and judge it; of a book, all its chapters, one after the other.

    The same command goes on where a stopped one was.
    """
    if listed:
        show_all(as_json=as_json)
        return
    if len(names) == 2 and names[0] == NEW:  # noqa: PLR2004  # the word and the name
        click.echo("\n".join(map(str, create(names[1]))))
        click.echo(f"next: change them, then evenkeel investigate {names[1]} --quick", err=True)
        return
    if len(names) != 1:
        raise click.UsageError("Name one investigation; --list says which there are.")
    if quick and pairs:
        raise click.UsageError("--quick decides itself how many --pairs there are: choose one of the two.")
    say_what_is_not_used()
    way = Way(pairs, versions, quick=quick, fresh=fresh, profiled=profiled)
    book = find_book(names[0])
    found, failed = conduct_all(chosen(names[0], way), as_json=as_json)
    if as_json:
        documents = {one.summary.name: told(one) for one in found}
        click.echo(json.dumps({"chapters": documents} if book else next(iter(documents.values()))))
    elif book and quick:
        results().print(conclusion((one.summary, one.judgement) for one in found))
    if book and quick:
        click.echo(first_pages(book, found), err=as_json)
    if failed:
        raise failed
    if not all(one.judgement.has_basis and not one.judgement.invalid for one in found):
        context.exit(RIG_INVALID)
    context.exit(
        CRITERION_FAILED if any(each.outcome is Outcome.MISSED for one in found for each in one.criteria) else 0
    )


def chosen(name: str, way: Way) -> list[tuple[Path, Way]]:
    """Return what is to be measured, and how: of a book, its chapters, which share the time if it is to be quick."""
    place = find_book(name)
    if place is None:
        return [(find(name), way)]
    book = read_book(place)
    if not way.quick:
        return [(place / chapter, way) for chapter in book.chapters]
    folders = [place / chapter for chapter in book.quick or book.chapters]
    least = [least_seconds(replace(way, quick=False).asked(folder)) for folder in folders]
    return [
        (folder, replace(way, seconds=QUICK_SECONDS * seconds / sum(least)))
        for folder, seconds in zip(folders, least, strict=True)
    ]


@dataclass(frozen=True)
class Way:
    """How it is to be measured, where that is not as its file says."""

    pairs: int | None
    versions: Sequence[str]
    quick: bool
    fresh: bool
    profiled: bool
    seconds: float | None = None
    """How long it may take, if it is to be quick."""

    @property
    def lasts(self) -> bool:
        """Whether it is to be committed: no first impression, nor a session of another kind than its file asks for."""
        return not (self.quick or self.pairs or self.versions)

    def asked(self, folder: Path) -> Investigation:
        """Return what is asked."""
        wanted = with_versions(read(folder), self.versions)
        if self.pairs:
            wanted = with_pairs(wanted, self.pairs)
        return quickly(wanted, self.seconds) if self.quick else wanted


@dataclass(frozen=True)
class Found:
    """What a session has found, and where it lies."""

    summary: Summary
    judgement: Judgement
    store: Store
    home: Path | None
    """Where it is committed; None for one that lies elsewhere."""

    @property
    def criteria(self) -> list[Criterion]:
        """What became of all that was asked of its arms."""
        return criteria(self.summary.investigation, self.summary.done)


def conduct_all(wanted: Sequence[tuple[Path, Way]], *, as_json: bool) -> tuple[list[Found], LabError | None]:
    """Measure one after the other, and lay it down; return also what kept something from being laid down."""
    found: list[Found] = []
    failed = None
    for folder, way in wanted:
        found.append(conduct(folder, way, as_json=as_json))
        try:
            lay_down(found[-1], as_json=as_json)
        except LabError as error:
            # A file that cannot be read, wherever it lies, keeps nobody from measuring the rest.
            failed = failed or error
    return found, failed


def conduct(folder: Path, way: Way, *, as_json: bool) -> Found:
    """Measure one investigation, and say what was found."""
    name, wanted = name_of(folder), way.asked(folder)
    is_ours = known().get(name) == folder.resolve()
    place = folder.resolve().parents[name.count("/")]
    store = Store((place.parent if place.name == FOLDER else place) / DATA / name / digest(wanted))
    console = Console(stderr=True)
    steps, stop = shown_on(console), Event()
    profiler = Profiler(name, wanted, store, steps, stop) if way.profiled else None
    with store.claimed(), View(console, wanted) as view:
        # A first impression of a book is one of now.
        if way.fresh or way.seconds:
            store.clear()
        session = Session(name, wanted, store, Options(), steps, view, stop, profiler)
        judgement = asyncio.run(session.conduct())
        # While nobody else may begin anew here.
        summary = gather(store)
        write(summary, store.folder / SUMMARY)
    if not as_json:
        results().print(report(judgement), kept(criteria(summary.investigation, summary.done)))
    if wanted.session.seconds and not way.quick and not judgement.has_basis:
        click.echo("warning: its time was over before there were pairs enough; --fresh begins anew", err=True)
    for part in (part for part in BELIEVED if getattr(wanted, part) != getattr(summary.investigation, part)):
        told = f"warning: `{part}` has changed since something was measured, and stands as it was; --fresh begins anew"
        click.echo(told, err=True)
    for arm in (arm for arm, warm in summary.warm_up.items() if not warm["steady"]):
        click.echo(f"warning: {arm} had not settled when the first pair began", err=True)
    return Found(summary, judgement, store, folder.resolve() if is_ours and way.lasts else None)


def lay_down(found: Found, *, as_json: bool) -> None:
    """Write what is to be committed: the summary, the profile, the report, the notebook; else a report beside it."""
    for path in publish(found) if found.home else [impression(found)]:
        click.echo(path, err=as_json)


def publish(found: Found) -> Iterator[Path]:
    """Write what is to be committed, and name each file."""
    from evenkeel_lab.cli.report import publish as render  # noqa: PLC0415  # what draws takes long to import

    assert found.home is not None
    write(found.summary, found.home / SUMMARY)
    yield found.home / SUMMARY
    if (found.store.folder / PROFILE).exists():
        shutil.copyfile(found.store.folder / PROFILE, found.home / PROFILE)
    yield from render([found.summary.name], shown_on(Console(stderr=True)))


def impression(found: Found) -> Path:
    """Write the report of a session that is not to last, beside its records."""
    from evenkeel_lab.report import render  # noqa: PLC0415  # as above

    return render(found.summary, found.store.folder)


def first_pages(folder: Path, found: Sequence[Found]) -> Path:
    """Write the pages of a book of which some chapters have been measured quickly; return the path of the first."""
    from evenkeel_lab.report import render_study  # noqa: PLC0415  # as above

    place = folder.parents[1] / DATA / folder.name / "quick"
    return render_study(folder.name, read_book(folder), [one.summary for one in found], place)


def say_what_is_not_used() -> None:
    """Say which servers of the user's are left alone."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        if os.environ.get(name):
            click.echo(f"{name} is not used: subjects that are measured share no servers.", err=True)


def show_all(*, as_json: bool) -> None:
    """Say which investigations there are, and what they ask."""
    read_by = dict.fromkeys(known(), read) | dict.fromkeys(books(), read_book)
    questions, broken = {}, {}
    for name, folder in sorted((known() | books()).items()):
        try:
            questions[name] = read_by[name](folder).question
        except WrongUse as error:
            broken[name] = str(error)
    if as_json:
        click.echo(json.dumps({"questions": questions, "broken": broken}))
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    for name in sorted(questions | broken):
        shown.add_row(name, Text(questions[name]) if name in questions else Text(broken[name], style="yellow"))
    results().print(shown if shown.row_count else Text(f"There are no investigations here: {BEGIN}"))


def create(name: str) -> list[Path]:
    """Write a new investigation to begin with, its page and its notebook."""
    check_name(name)
    place = home() / name
    if place.exists():
        raise WrongUse(f"{place} exists already.", hint="Choose another name.")
    place.mkdir()
    files = {FILE: template(name), README: readme(name), NOTEBOOK: first_notebook()}
    for file, content in files.items():
        (place / file).write_text(content, encoding="utf-8")
    return [place / file for file in files]


def report(judgement: Judgement) -> RenderableType:
    """Return the tables of all comparisons, and what invalidates them."""
    parts: list[RenderableType] = []
    for one in judgement.comparisons:
        parts += [table(one), Text()]
    parts += [Text(f"invalid: {why}", style="bold yellow") for why in judgement.invalid]
    return Group(*parts)


def kept(found: Sequence[Criterion]) -> RenderableType:
    """Return what was asked of each arm, and whether it keeps to it; nothing where nothing was asked."""
    if not found:
        return Group()
    shown = Table(box=None, pad_edge=False)
    for name in ("arm", "figure", "asked", "mean of its pairs", ""):
        shown.add_column(name)
    for one in found:
        shown.add_row(one.arm, one.level.metric.name, asked(one), str(one.level), str(one.outcome))
    return shown


def told(found: Found) -> dict[str, object]:
    """Return the same for a program."""
    return {
        "comparisons": [document(one) for one in found.judgement.comparisons],
        "criteria": [
            {
                "arm": one.arm,
                "figure": one.level.metric.name,
                "bound": one.bound,
                "pairs": one.level.pairs,
                "mean": one.level.mean if one.level.is_told else None,
                "interval": [one.level.low, one.level.high] if one.level.is_told else None,
                "outcome": one.outcome,
            }
            for one in found.criteria
        ],
        "settled": found.judgement.settled,
        "invalid": list(found.judgement.invalid),
    }
