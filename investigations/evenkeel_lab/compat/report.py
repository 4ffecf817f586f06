"""Tables and JSON documents of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.compat.lookup import Break
    from evenkeel_lab.compat.outcome import Outcome


def table(by_version: Mapping[str, Sequence[Break]], entries: Mapping[str, int]) -> Table:
    """Return a table of breaks by version; `entries` is the number of entries that apply to each version."""
    shown = Table(title="what the plugin needs of LiteLLM", title_justify="left", box=None, pad_edge=False)
    shown.add_column("version", no_wrap=True)
    for column in ("finding", "needed by", "why"):
        shown.add_column(column, overflow="fold")
    for version, breaks in by_version.items():
        if not breaks:
            shown.add_row(version, f"all {entries[version]} are there", "", "")
        for number, broken in enumerate(breaks):
            shown.add_row(version if number == 0 else "", sentence(broken), ", ".join(broken.needed_by), broken.why)
    return shown


def sentence(broken: Break) -> str:
    """Return a break as a sentence."""
    problem = broken.problem if broken.problem.startswith("there is no") else f"{broken.name} {broken.problem}"
    return f"{problem}. It may be {' or '.join(broken.similar)} now." if broken.similar else f"{problem}."


def document(by_version: Mapping[str, Sequence[Break]], entries: Mapping[str, int]) -> dict[str, object]:
    """Return breaks by version as a JSON document."""
    versions = [
        {
            "version": version,
            "looked_up": entries[version],
            "breaks": [broken.model_dump(mode="json") for broken in breaks],
        }
        for version, breaks in by_version.items()
    ]
    return {"ok": not any(by_version.values()), "versions": versions}


def run_table(outcomes: Sequence[Outcome]) -> Table:
    """Return a table of test results and failures by version."""
    shown = Table(title="the plugin with each LiteLLM", title_justify="left", box=None, pad_edge=False)
    shown.add_column("version", no_wrap=True)
    shown.add_column("passed", justify="right")
    shown.add_column("what went wrong", overflow="fold")
    for outcome in outcomes:
        passed = f"{outcome.tests.passed} tests, {sum(check.ok for check in outcome.checks)} checks"
        wrong = list(_wrong(outcome))
        for number, line in enumerate(wrong or ["nothing"]):
            shown.add_row(*((outcome.version, passed) if number == 0 else ("", "")), line)
    return shown


def _wrong(outcome: Outcome) -> Iterator[str]:
    yield from map(sentence, outcome.breaks)
    yield from (f"test {name}" for name in outcome.tests.failed)
    yield from (f"{check.name}: {check.details or 'no'}" for check in outcome.checks if not check.ok)


def run_document(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return outcomes as a JSON document."""
    versions = [outcome.model_dump(mode="json") for outcome in outcomes]
    return {"ok": all(outcome.ok for outcome in outcomes), "versions": versions}
