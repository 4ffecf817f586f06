"""`evenkeel cache`: what the lab keeps between runs."""

from __future__ import annotations

import click

from evenkeel_lab.stack.folders import cache_folder, clear


@click.command()
@click.option("--clear", "wanted", is_flag=True, help="Remove all of it: environments, the Prisma engine, logs.")
def cache(*, wanted: bool) -> None:
    """Say where the lab keeps its environments and logs, or remove them."""
    folder = cache_folder()
    if wanted:
        clear(folder)
        click.echo(f"{folder} is empty now.")
        return
    for path in sorted(folder.iterdir()):
        click.echo(path)
