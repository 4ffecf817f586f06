"""`evenkeel report`: reports and executed notebooks, from what is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from evenkeel_lab.investigation_spec import books, known, name_of, read_book
from evenkeel_lab.investigation_spec.read import BOOK, FOLDER
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
@click.option("--check", is_flag=True, help="Write nothing: name each file that is not what it would be now.")
@click.option("--html", is_flag=True, help="Write reports/NAME.html too: one file that needs nothing else.")
@click.pass_context
def report(context: click.Context, names: tuple[str, ...], *, check: bool, html: bool) -> None:
    """Make the reports of investigations from their committed summaries: of all, or of those named.

    Their notebooks are executed too. With --check, the exit code is 1 when a file differs, is missing or is left over.
    """
    if check and html:
        raise click.UsageError("--check compares what is committed, and HTML is not: choose one of the two.")
    steps = shown_on(Console(stderr=True))
    if check:
        drifts = drifted(names, steps)
        for drift in drifts:
            click.echo(drift)
        if drifts:
            click.echo("hint   make reports", err=True)
        context.exit(DRIFTED if drifts else 0)
    for path in publish(names, steps, html=html):
        click.echo(path)


def publish(names: Sequence[str], steps: Steps, *, html: bool = False) -> list[Path]:
    """Write the reports, and execute the notebooks; return the files that somebody would open."""
    # What draws takes long to import, and --help needs none of it.
    from evenkeel_lab.notebook.files import write  # noqa: PLC0415
    from evenkeel_lab.notebook.template import FILE as SOURCE  # noqa: PLC0415
    from evenkeel_lab.report import render_all  # noqa: PLC0415

    rendered = render_all(names, steps)
    for path in rendered.remove():
        click.echo(f"removed {path.relative_to(rendered.folder.parent)}, which belongs to no report now", err=True)
    found = [path for path in rendered.write() if path.suffix != ".svg"]
    if html:
        found += rendered.write_html()
    for folder in (folder for folder in _measured(rendered) if (folder / SOURCE).is_file()):
        with steps.step(f"notebook of {name_of(folder)}"):
            found.append(write(folder))
    return [path.relative_to(rendered.folder.parent) for path in found]


def drifted(names: Sequence[str], steps: Steps) -> list[str]:
    """Name the files that are not what they would be now."""
    from evenkeel_lab.notebook.files import drift  # noqa: PLC0415
    from evenkeel_lab.report import render_all  # noqa: PLC0415

    rendered = render_all(names, steps)
    found = [f"{one.path.relative_to(rendered.folder.parent)}: {one.what}" for one in rendered.drift()]
    for folder in _measured(rendered):
        with steps.step(f"notebook of {name_of(folder)}"):
            found += [f"{FOLDER}/{name}: differs" for name in drift(folder)]
    return found


def _measured(rendered: Rendered) -> list[Path]:
    """Return the folders of what was measured; of a book, once all of it was."""
    folders = known() | books()
    return [folder for page in rendered.pages if _is_whole(folder := folders[page.name])]


def _is_whole(folder: Path) -> bool:
    chapters = read_book(folder).chapters if (folder / BOOK).is_file() else []
    return all((folder / chapter / SUMMARY).is_file() for chapter in chapters)
