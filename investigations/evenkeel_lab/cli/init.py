"""`evenkeel init`: add the plugin to a proxy's YAML, or take it out again."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml
from rich.text import Text

from evenkeel_lab.atomic_files import replace_text
from evenkeel_lab.cli.output import results
from evenkeel_lab.config_edit.proxy_changes import Change, changed
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.settings import SECTION

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKUP = ".before-evenkeel"
REPLACED = ("litellm_settings", "router_settings", SECTION)
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
    # A link stays a link.
    config = config.resolve()
    if undo:
        restore(config)
        click.echo(f"{config} is as it was before.", err=as_json)
        return
    before = read(config)
    require_no_included_sections(config, before)
    after, changes = changed(before)
    if write and changes:
        # --undo returns to what the file was before the last --write.
        backup = shutil.copy2(config, config.with_name(config.name + BACKUP))
        with created_for_owner_only():
            replace_text(config, after)
        shutil.copymode(backup, config)
    if as_json:
        rows = [{"what": change.what, "why": change.why} for change in changes]
        click.echo(json.dumps({"changes": rows, "written": write and bool(changes), "after": after}))
        return
    show_changes(config, before, after, changes, written=write)


@contextlib.contextmanager
def created_for_owner_only() -> Iterator[None]:
    """Make new files unreadable for others: a configuration may contain keys."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def require_no_included_sections(config: Path, text: str) -> None:
    """Raise WrongUse if an included file has a section that would replace one of this file."""
    try:
        values = yaml.safe_load(text)
        entries = values.get("include") or [] if isinstance(values, dict) else []
        for entry in entries if isinstance(entries, list) else [entries]:
            included = yaml.safe_load((config.parent / str(entry)).read_text(encoding="utf-8"))
            sections = [name for name in REPLACED if isinstance(included, dict) and name in included]
            if sections:
                raise WrongUse(
                    f"{entry} has {' and '.join(sections)}, which LiteLLM takes instead of those in {config.name}.",
                    hint=f"Move them to {config.name}, or add the plugin by hand: see docs/rotation.md.",
                )
    except (OSError, ValueError, yaml.YAMLError):
        # `changed` and LiteLLM say what is wrong with such a file.
        return


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
