"""`evenkeel report`: reports from what is committed."""

from __future__ import annotations

import click
from rich.console import Console

from evenkeel_lab.progress import shown_on

DRIFTED = 1


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing: name each file that is not what it would be now.")
@click.option("--html", is_flag=True, help="Write reports/NAME.html too: one file that needs nothing else.")
@click.pass_context
def report(context: click.Context, names: tuple[str, ...], *, check: bool, html: bool) -> None:
    """Make the reports of investigations from their committed summaries: of all, or of those named.

    With --check, the exit code is 1 when a file differs, is missing or is left over.
    """
    from evenkeel_lab.report import render_all  # noqa: PLC0415 - what draws takes long to import, --help need not

    if check and html:
        raise click.UsageError("--check compares what is committed, and HTML is not: choose one of the two.")
    rendered = render_all(names, shown_on(Console(stderr=True)))
    if check:
        drifts = rendered.drift()
        for drift in drifts:
            click.echo(f"{drift.path.relative_to(rendered.place.parent)}: {drift.what}")
        if drifts:
            click.echo("cure   make reports", err=True)
        context.exit(DRIFTED if drifts else 0)
    for path in [*rendered.write(), *(rendered.write_html() if html else [])]:
        if path.suffix != ".svg":
            click.echo(path.relative_to(rendered.place.parent))
