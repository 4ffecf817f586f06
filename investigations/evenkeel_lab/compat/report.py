"""What was found, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.compat.lookup import Break
    from evenkeel_lab.compat.outcome import Outcome


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


def run_table(outcomes: Sequence[Outcome]) -> Table:
    """Return how the plugin ran with each version, and all that went wrong."""
    shown = Table(title="the plugin with each LiteLLM", title_justify="left", box=None, pad_edge=False)
    shown.add_column("version", no_wrap=True)
    shown.add_column("passed", justify="right")
    shown.add_column("what went wrong", overflow="fold")
    for outcome in outcomes:
        passed = f"{outcome.tests.passed} tests, {sum(one.ok for one in outcome.checks)} checks"
        wrong = list(_wrong(outcome))
        for place, one in enumerate(wrong or ["nothing"]):
            shown.add_row(*((outcome.version, passed) if place == 0 else ("", "")), one)
    return shown


def _wrong(outcome: Outcome) -> Iterator[str]:
    yield from map(sentence, outcome.breaks)
    yield from (f"test {name}" for name in outcome.tests.failed)
    yield from (f"{one.name}: {one.details or 'no'}" for one in outcome.checks if not one.ok)


def run_document(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return it as a document."""
    return {"ok": all(one.ok for one in outcomes), "versions": [one.model_dump(mode="json") for one in outcomes]}
