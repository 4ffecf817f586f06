"""`evenkeel cache`: what the lab keeps between runs."""

from __future__ import annotations

import click

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.folders import cache_folder, clear, kept


@click.command()
@click.option("--clear", "wanted", is_flag=True, help="Remove all of it: environments, the Prisma engine, logs.")
def cache(*, wanted: bool) -> None:
    """List what the lab keeps between runs, or remove it."""
    folder = cache_folder()
    if not wanted:
        for path in kept(folder):
            click.echo(path)
        return
    left = clear(folder)
    if left:
        raise RigFailure(f"Cannot remove {left[0]}.", hint="Remove it as its owner.")
    click.echo(f"{folder} is empty now.")
