"""What was found, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.compat.lookup import Break


def table(found: Mapping[str, Sequence[Break]], entries: Mapping[str, int]) -> Table:
    """Return version by finding; `entries` is how many were looked up in each version."""
    shown = Table(title="what the plugin needs of LiteLLM", title_justify="left", box=None, pad_edge=False)
    shown.add_column("version", no_wrap=True)
    for column in ("finding", "needed by", "why"):
        shown.add_column(column, overflow="fold")
    for version, several in found.items():
        if not several:
            shown.add_row(version, f"all {entries[version]} are there", "", "")
        for place, one in enumerate(several):
            shown.add_row(version if place == 0 else "", sentence(one), ", ".join(one.needed_by), one.why)
    return shown


def sentence(one: Break) -> str:
    """Return a finding as a sentence."""
    said = f"{one.problem}." if one.problem.startswith("there is no") else f"{one.name} {one.problem}."
    return f"{said} It is now at {' or '.join(one.elsewhere)}." if one.elsewhere else said


def document(found: Mapping[str, Sequence[Break]], entries: Mapping[str, int]) -> dict[str, object]:
    """Return it as a document."""
    versions = [
        {"version": version, "looked_up": entries[version], "breaks": [one.model_dump(mode="json") for one in several]}
        for version, several in found.items()
    ]
    return {"ok": not any(found.values()), "versions": versions}
