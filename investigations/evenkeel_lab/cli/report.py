"""`evenkeel report`: write reports and execute notebooks from committed summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from evenkeel_lab.investigation_spec import known, name_of, read_study, studies
from evenkeel_lab.investigation_spec.read import FOLDER, STUDY, home
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.results.summary import FILE as SUMMARY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.report import Rendered

DRIFTED = 1


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing: list the files that would change.")
@click.option("--html", is_flag=True, help="Also write reports/NAME.html, a single file with everything.")
@click.pass_context
def report(context: click.Context, names: tuple[str, ...], *, check: bool, html: bool) -> None:
    """Write the reports of all investigations, or of those named, from their committed summaries.

    The command executes their notebooks too. With --check, the exit code is 1 if a file differs, is missing or is left
    over, or if a number in README or docs is not what a summary says.
    """
    if check and html:
        raise click.UsageError("--check and --html do not go together: HTML is not committed.")
    steps = shown_on(Console(stderr=True))
    if check:
        drifts = drifted(names, steps)
        for drift in drifts:
            click.echo(drift)
        wrong = [] if names else wrong_in_docs(steps)
        for sentence in wrong:
            click.echo(sentence)
        if drifts:
            click.echo("hint   make reports", err=True)
        if wrong:
            click.echo("hint   correct the text, or the entry that names its source", err=True)
        context.exit(DRIFTED if drifts or wrong else 0)
    for path in publish(names, steps, html=html):
        click.echo(path)


def publish(names: Sequence[str], steps: Steps, *, html: bool = False) -> list[Path]:
    """Write the reports and execute the notebooks. Return the paths of the pages."""
    # Plots take seconds to import, and --help needs none of them.
    from evenkeel_lab.notebook.files import write  # noqa: PLC0415
    from evenkeel_lab.notebook.template import FILE as SOURCE  # noqa: PLC0415
    from evenkeel_lab.report import render_all  # noqa: PLC0415

    rendered = render_all(names, steps)
    for path in rendered.remove():
        click.echo(f"removed {path.relative_to(rendered.folder.parent)}, which belongs to no report any more", err=True)
    paths = [path for path in rendered.write() if path.suffix != ".svg"]
    if html:
        paths += rendered.write_html()
    for folder in (folder for folder in _measured(rendered) if (folder / SOURCE).is_file()):
        with steps.step(f"notebook of {name_of(folder)}"):
            paths.append(write(folder))
    return [path.relative_to(rendered.folder.parent) for path in paths]


def drifted(names: Sequence[str], steps: Steps) -> list[str]:
    """Return the files that would change, with the kind of change."""
    from evenkeel_lab.notebook.files import drift as notebook_drift  # noqa: PLC0415
    from evenkeel_lab.report import render_all  # noqa: PLC0415

    rendered = render_all(names, steps)
    drifts = [f"{drift.path.relative_to(rendered.folder.parent)}: {drift.what}" for drift in rendered.drift()]
    for folder in _measured(rendered):
        with steps.step(f"notebook of {name_of(folder)}"):
            drifts += [f"{FOLDER}/{name}: differs" for name in notebook_drift(folder)]
    return drifts


def wrong_in_docs(steps: Steps) -> list[str]:
    """Return a sentence for each number in README and docs that differs from its source, or that has none."""
    from evenkeel_lab.report import results_of, wrong_numbers  # noqa: PLC0415 - see above

    with steps.step("numbers in README and docs"):
        return [*wrong_numbers(home().parent, results_of)]


def _measured(rendered: Rendered) -> list[Path]:
    """Return the folders of measured investigations, and of studies with all chapters measured."""
    folders = known() | studies()
    named = (folders[page.name] for page in rendered.pages if page.name in folders)
    return [folder for folder in named if _is_whole(folder)]


def _is_whole(folder: Path) -> bool:
    chapters = read_study(folder).chapters if (folder / STUDY).is_file() else []
    return all((folder / chapter / SUMMARY).is_file() for chapter in chapters)
