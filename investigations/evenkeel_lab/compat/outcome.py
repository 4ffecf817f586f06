"""Results of the compatibility matrix for each LiteLLM version, and their table for the README."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evenkeel_lab.compat.lookup import Break
from litellm_evenkeel.compatibility import release

FILE = Path(__file__).with_name("matrix.json")
BEGIN, END = "<!-- compatibility -->", "<!-- /compatibility -->"
HEAD = (
    "| LiteLLM | what the plugin needs of it | the plugin's tests | a proxy with all callbacks and one dead account |",
    "|---|---|---|---|",
)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TestRun(_Document):
    """Result of the plugin's tests."""

    __test__ = False
    passed: int
    skipped: int = 0
    failed: tuple[str, ...] = ()


class Check(_Document):
    """A check of a proxy that runs with the plugin."""

    name: str
    ok: bool
    details: str = ""


class Outcome(_Document):
    """Results of one LiteLLM version."""

    version: str
    date: str
    python: str
    entries: int
    breaks: tuple[Break, ...]
    tests: TestRun
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether the version passed all checks and tests."""
        return not self.breaks and not self.tests.failed and all(check.ok for check in self.checks)


class Matrix(_Document):
    """Results of all versions, oldest first."""

    outcomes: tuple[Outcome, ...]

    @property
    def newest_that_works(self) -> str | None:
        """The newest version that passed, or `None`."""
        passed = [outcome.version for outcome in self.outcomes if outcome.ok]
        return max(passed, key=release, default=None)


def committed(path: Path = FILE) -> Matrix:
    """Return the committed matrix; empty if there is none."""
    return Matrix.model_validate_json(path.read_text()) if path.exists() else Matrix(outcomes=())


def joined(before: Matrix, new: list[Outcome]) -> Matrix:
    """Return the matrix with new outcomes, which replace those of the same release line."""
    lines = {_line(outcome.version) for outcome in new}
    kept = [outcome for outcome in before.outcomes if _line(outcome.version) not in lines]
    return Matrix(outcomes=tuple(sorted([*kept, *new], key=lambda outcome: release(outcome.version))))


def _line(version: str) -> tuple[int, ...]:
    return release(version)[:2]


def table(matrix: Matrix) -> str:
    """Return the table for the README."""
    rows = [f"| {' | '.join(_cells(outcome))} |" for outcome in matrix.outcomes]
    dates = sorted({outcome.date for outcome in matrix.outcomes})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "never"
    return "\n".join([*HEAD, *rows, "", f"Run on {when}; `make matrix` does it again."])


def _cells(outcome: Outcome) -> tuple[str, ...]:
    broken = len({entry.name for entry in outcome.breaks})
    tests, failed = outcome.tests, [check.name for check in outcome.checks if not check.ok]
    return (
        outcome.version,
        f"{outcome.entries - broken} of {outcome.entries} are there" if broken else f"all {outcome.entries} are there",
        f"{len(tests.failed)} of {tests.passed + len(tests.failed)} fail" if tests.failed else f"{tests.passed} pass",
        f"no: {', '.join(failed)}" if failed else "works",
    )


def put(page: str, matrix: Matrix) -> str:
    """Return a page with the table between its marks."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return between.sub(lambda _: f"{BEGIN}\n{table(matrix)}\n{END}", page)
