"""`evenkeel init`: add the plugin to a proxy's YAML, or take it out again."""

from __future__ import annotations

import difflib
import json
import shutil
from pathlib import Path

import click
from rich.text import Text

from evenkeel_lab.atomic_files import replace_text
from evenkeel_lab.cli.output import results
from evenkeel_lab.config_edit.proxy_changes import Change, changed
from evenkeel_lab.errors import WrongUse

BACKUP = ".before-evenkeel"
STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.option(
    "--config",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The proxy's YAML.",
)
@click.option("--write", is_flag=True, help="Change the file. Without this, the changes are only shown.")
@click.option("--undo", is_flag=True, help="Restore the file as it was before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the difference.")
def init(config: Path, *, write: bool, undo: bool, as_json: bool) -> None:
    """Add rotation, metrics and journal to a proxy's YAML: the changes first, then with --write.

    Comments, order and `include:` stay as they are. A copy of the file is kept beside it for --undo.
    """
    if write and undo:
        raise click.UsageError("--write and --undo do not go together.")
    if undo:
        restore(config)
        click.echo(f"{config} is as it was before.", err=as_json)
        return
    before = read(config)
    after, changes = changed(before)
    if write and changes:
        backup = config.with_name(config.name + BACKUP)
        if not backup.exists():
            shutil.copy2(config, backup)
        replace_text(config, after)
        # The file may contain keys, so it must not become readable for others.
        shutil.copymode(backup, config)
    if as_json:
        rows = [{"what": change.what, "why": change.why} for change in changes]
        click.echo(json.dumps({"changes": rows, "written": write and bool(changes), "after": after}))
        return
    show_changes(config, before, after, changes, written=write)


def show_changes(config: Path, before: str, after: str, changes: list[Change], *, written: bool) -> None:
    """Print the difference, and what each change is for."""
    console = results()
    if not changes:
        click.echo(f"{config} has the plugin already.")
        return
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), str(config), "after", lineterm=""):
        console.print(Text(line, STYLES.get(line[:1], "")), soft_wrap=True)
    click.echo()
    for change in changes:
        console.print(Text(f"- {change.what}: {change.why}"), soft_wrap=True)
    click.echo()
    if written:
        click.echo(f"{config} is changed. Restart the proxy. To undo: evenkeel init --config {config} --undo")
    else:
        click.echo(f"Nothing is written yet. To change the file: evenkeel init --config {config} --write")


def read(config: Path) -> str:
    """Return the text of a file, with its line endings."""
    try:
        return config.read_bytes().decode()
    except UnicodeDecodeError:
        raise WrongUse(f"{config} is not UTF-8.", hint="LiteLLM reads UTF-8.") from None


def restore(config: Path) -> None:
    """Restore a file byte for byte. Raise WrongUse if it was changed since."""
    backup = config.with_name(config.name + BACKUP)
    if not backup.is_file():
        raise WrongUse(f"There is no {backup}.", hint="Only what --write has changed can be undone.")
    if changed(read(backup))[0] != read(config):
        raise WrongUse(
            f"{config} was changed after `evenkeel init`.", hint=f"Its former content is in {backup}: compare both."
        )
    backup.replace(config)
