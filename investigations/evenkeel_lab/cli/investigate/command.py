"""`evenkeel investigate`: run an investigation, and print its results."""

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
from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import RIG_INVALID, LabError, WrongUse
from evenkeel_lab.investigation_spec import find, known, name_of, read, read_study, readme, studies, template
from evenkeel_lab.investigation_spec.overrides import least_seconds, quickly, with_pairs, with_versions
from evenkeel_lab.investigation_spec.read import BEGIN, FILE, FOLDER, check_name, find_study, home
from evenkeel_lab.notebook.template import FILE as NOTEBOOK, first_notebook
from evenkeel_lab.profiling.capture import Profiler
from evenkeel_lab.profiling.profile import FILE as PROFILE
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.results.criteria import Outcome, criteria, describe_bound
from evenkeel_lab.runner.results.store import FIXED_ONCE_MEASURED, Store, digest
from evenkeel_lab.runner.results.summary import FILE as SUMMARY, gather, write
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats import LEAST_PAIRS
from evenkeel_lab.tracing.capture import TraceCapture
from evenkeel_lab.tracing.traces import FILE as TRACES

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
# Duration of `--quick` of a study. Servers and reports take some seconds more.
QUICK_SECONDS = 340.0
CRITERION_FAILED = 1


@click.command()
@click.argument("names", metavar="[NAME | STUDY[/CHAPTER] | new NAME]", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List all investigations.")
@click.option(
    "--quick",
    is_flag=True,
    help="A first impression that is not committed: six short pairs; of a study, less than six minutes.",
)
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), help="Override the last look.")
@click.option(
    "--litellm",
    "versions",
    multiple=True,
    metavar="VERSION",
    help="Override the LiteLLM version; several are compared with the baseline in the first.",
)
@click.option("--fresh", is_flag=True, help="Begin again instead of resuming a stopped session.")
@click.option("--profile", "profiled", is_flag=True, help="Profile each arm in an extra run that does not count.")
@click.option("--traces", "traced", is_flag=True, help="Trace what requests wait for, in an extra run of each arm.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the tables.")
@click.pass_context
def investigate(  # noqa: PLR0913  # one for each option
    context: click.Context,
    names: tuple[str, ...],
    pairs: int | None,
    versions: tuple[str, ...],
    *,
    listed: bool,
    quick: bool,
    fresh: bool,
    profiled: bool,
    traced: bool,
    as_json: bool,
) -> None:
    """Run an investigation in pairs, and judge it; of a study, all its chapters, one after the other.

    The same command resumes a session that was stopped.
    """
    if listed:
        show_all(as_json=as_json)
        return
    if len(names) == 2 and names[0] == NEW:  # noqa: PLR2004  # the word and the name
        click.echo("\n".join(map(str, create(names[1]))))
        click.echo(f"next: edit them, then evenkeel investigate {names[1]} --quick", err=True)
        return
    if len(names) != 1:
        raise click.UsageError("Name one investigation; --list shows all.")
    if quick and pairs:
        raise click.UsageError("--quick and --pairs do not go together: --quick chooses the number of pairs itself.")
    warn_about_unused_servers()
    overrides = Overrides(pairs, versions, quick=quick, fresh=fresh, profiled=profiled, traced=traced)
    study = find_study(names[0])
    results_of_all, failed = measure_all(selected(names[0], overrides), as_json=as_json)
    if as_json:
        documents = {each.summary.name: result_document(each) for each in results_of_all}
        click.echo(json.dumps({"chapters": documents} if study else next(iter(documents.values()))))
    elif study and quick:
        show(conclusion((each.summary, each.judgement) for each in results_of_all))
    if study and quick:
        click.echo(write_study_report(study, results_of_all), err=as_json)
    if failed:
        raise failed
    if not all(each.judgement.has_basis and not each.judgement.invalid for each in results_of_all):
        context.exit(RIG_INVALID)
    context.exit(
        CRITERION_FAILED
        if any(criterion.outcome is Outcome.MISSED for each in results_of_all for criterion in each.criteria)
        else 0
    )


def selected(name: str, overrides: Overrides) -> list[tuple[Path, Overrides]]:
    """Return the folders of the investigations to measure, with overrides. Chapters of a quick study share its time."""
    folder = find_study(name)
    if folder is None:
        return [(find(name), overrides)]
    study = read_study(folder)
    if not overrides.quick:
        return [(folder / chapter, overrides) for chapter in study.chapters]
    chapters = [folder / chapter for chapter in study.quick or study.chapters]
    least = [least_seconds(replace(overrides, quick=False).apply(chapter)) for chapter in chapters]
    return [
        (chapter, replace(overrides, seconds=QUICK_SECONDS * seconds / sum(least)))
        for chapter, seconds in zip(chapters, least, strict=True)
    ]


@dataclass(frozen=True)
class Overrides:
    """Options of the command line that override the file of an investigation."""

    pairs: int | None
    versions: Sequence[str]
    quick: bool
    fresh: bool
    profiled: bool
    traced: bool
    seconds: float | None = None
    """The time limit of a quick session."""

    @property
    def is_committed(self) -> bool:
        """Whether the results are committed: those of a session that is exactly the one of the file."""
        return not (self.quick or self.pairs or self.versions)

    def apply(self, folder: Path) -> Investigation:
        """Read the investigation in `folder`, and return it with the overrides."""
        wanted = with_versions(read(folder), self.versions)
        if self.pairs:
            wanted = with_pairs(wanted, self.pairs)
        return quickly(wanted, self.seconds) if self.quick else wanted


@dataclass(frozen=True)
class Measured:
    """A finished session: its results and folders."""

    summary: Summary
    judgement: Judgement
    store: Store
    home: Path | None
    """The folder in which its results are committed; `None` if they are not."""

    @property
    def criteria(self) -> list[Criterion]:
        """The criteria of its arms with their outcomes."""
        return criteria(self.summary.investigation, self.summary.done)


def measure_all(wanted: Sequence[tuple[Path, Overrides]], *, as_json: bool) -> tuple[list[Measured], LabError | None]:
    """Measure investigations one after the other and write their results. Return also the first error of writing."""
    measured: list[Measured] = []
    failed = None
    for folder, overrides in wanted:
        measured.append(measure(folder, overrides, as_json=as_json))
        try:
            write_results(measured[-1], as_json=as_json)
        except LabError as error:
            # An unreadable file of another investigation must not stop the rest of the measurements.
            failed = failed or error
    return measured, failed


def measure(folder: Path, overrides: Overrides, *, as_json: bool) -> Measured:
    """Measure one investigation, and print its results."""
    name, wanted = name_of(folder), overrides.apply(folder)
    is_ours = known().get(name) == folder.resolve()
    above = folder.resolve().parents[name.count("/")]
    store = Store((above.parent if above.name == FOLDER else above) / DATA / name / digest(wanted))
    console = Console(stderr=True)
    steps, stop = shown_on(console), Event()
    extras: list[Profiler | TraceCapture] = []
    if overrides.profiled:
        extras.append(Profiler(name, wanted, store, steps, stop))
    if overrides.traced:
        extras.append(TraceCapture(name, wanted, store, steps, stop))
    with store.claimed(), View(console, wanted) as view:
        # A quick study is never resumed.
        if overrides.fresh or overrides.seconds:
            store.clear()
        session = Session(name, wanted, store, Options(), steps, view, stop, extras)
        judgement = asyncio.run(session.conduct())
        # Within the lock, so that no other process begins again here.
        summary = gather(store)
        write(summary, store.folder / SUMMARY)
    if not as_json:
        show(Group(report(judgement), criteria_table(criteria(summary.investigation, summary.done))))
    if wanted.session.seconds and not overrides.quick and not judgement.has_basis:
        click.echo("warning: the time limit ended it before it had enough pairs; --fresh begins again", err=True)
    for part in (part for part in FIXED_ONCE_MEASURED if getattr(wanted, part) != getattr(summary.investigation, part)):
        warning = f"warning: `{part}` has changed since the first pair; the old one is kept; --fresh begins again"
        click.echo(warning, err=True)
    for arm in (arm for arm, warm in summary.warm_up.items() if not warm["steady"]):
        click.echo(f"warning: {arm} had not settled when the first pair began", err=True)
    return Measured(summary, judgement, store, folder.resolve() if is_ours and overrides.is_committed else None)


def write_results(measured: Measured, *, as_json: bool) -> None:
    """Write the results of a session: the committed files, or a report next to its records."""
    for path in publish(measured) if measured.home else [write_report(measured)]:
        click.echo(path, err=as_json)


def publish(measured: Measured) -> Iterator[Path]:
    """Write the committed files (summary, profile, traces, report, notebook) and yield their paths."""
    from evenkeel_lab.cli.report import publish as render  # noqa: PLC0415  # plots take seconds to import

    assert measured.home is not None
    write(measured.summary, measured.home / SUMMARY)
    yield measured.home / SUMMARY
    for extra in (PROFILE, TRACES):
        if (measured.store.folder / extra).exists():
            shutil.copyfile(measured.store.folder / extra, measured.home / extra)
    yield from render([measured.summary.name], shown_on(Console(stderr=True)))


def write_report(measured: Measured) -> Path:
    """Write the report of a session that is not committed, next to its records."""
    from evenkeel_lab.report import render  # noqa: PLC0415  # as above

    return render(measured.summary, measured.store.folder)


def write_study_report(folder: Path, measured: Sequence[Measured]) -> Path:
    """Write the pages of a quick study, and return the path of the first one."""
    from evenkeel_lab.report import render_study  # noqa: PLC0415  # as above

    target = folder.parents[1] / DATA / folder.name / "quick"
    return render_study(folder.name, read_study(folder), [chapter.summary for chapter in measured], target)


def warn_about_unused_servers() -> None:
    """Warn that servers of the environment are not used."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        if os.environ.get(name):
            click.echo(f"{name} is not used: each subject has its own servers.", err=True)


def show_all(*, as_json: bool) -> None:
    """Print all investigations with their questions."""
    read_by = dict.fromkeys(known(), read) | dict.fromkeys(studies(), read_study)
    questions, broken = {}, {}
    for name, folder in sorted((known() | studies()).items()):
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
    show(shown if shown.row_count else Text(f"There are no investigations here: {BEGIN}"))


def create(name: str) -> list[Path]:
    """Write the files of a new investigation: the specification, a README and a notebook."""
    check_name(name)
    folder = home() / name
    if folder.exists():
        raise WrongUse(f"{folder} exists already.", hint="Choose another name.")
    folder.mkdir()
    files = {FILE: template(name), README: readme(name), NOTEBOOK: first_notebook()}
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    return [folder / file for file in files]


def report(judgement: Judgement) -> RenderableType:
    """Return the tables of all comparisons, and the reasons why the session is invalid."""
    parts: list[RenderableType] = []
    for comparison in judgement.comparisons:
        parts += [table(comparison), Text()]
    parts += [Text(f"invalid: {why}", style="bold yellow") for why in judgement.invalid]
    return Group(*parts)


def criteria_table(measured: Sequence[Criterion]) -> RenderableType:
    """Return the table of criteria; empty if there are none."""
    if not measured:
        return Group()
    shown = Table(box=None, pad_edge=False)
    for name in ("arm", "figure", "asked", "mean of its pairs", ""):
        shown.add_column(name)
    for criterion in measured:
        shown.add_row(
            criterion.arm,
            criterion.measured.metric.name,
            describe_bound(criterion),
            str(criterion.measured),
            str(criterion.outcome),
        )
    return shown


def result_document(measured: Measured) -> dict[str, object]:
    """Return the results as a JSON document."""
    return {
        "comparisons": [document(comparison) for comparison in measured.judgement.comparisons],
        "criteria": [
            {
                "arm": criterion.arm,
                "figure": criterion.measured.metric.name,
                "bound": criterion.bound,
                "pairs": criterion.measured.pairs,
                "mean": criterion.measured.mean if criterion.measured.is_known else None,
                "interval": [criterion.measured.low, criterion.measured.high] if criterion.measured.is_known else None,
                "outcome": criterion.outcome,
            }
            for criterion in measured.criteria
        ],
        "settled": measured.judgement.settled,
        "invalid": list(measured.judgement.invalid),
    }
