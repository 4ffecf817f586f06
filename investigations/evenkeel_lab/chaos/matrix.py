"""The matrix: every fault in turn on one rig, then a search for secrets.

What was measured with this commit is not repeated. A quick run neither keeps nor repeats anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evenkeel_lab.chaos.cell import BEFORE_SECONDS, DURING_SECONDS, RATE, run_cell
from evenkeel_lab.chaos.rig import rig
from evenkeel_lab.chaos.sweep import sweep
from evenkeel_lab.errors import FaultNotCaused
from evenkeel_lab.runner.results.chaos_results import (
    PICK_SECONDS,
    Cell,
    Matrix,
    Measured,
    Soak,
    Sweep,
    pick_p99,
    read_result,
    result_path,
    write_result,
)
from evenkeel_lab.runner.results.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel_lab.chaos.fault import Fault
    from evenkeel_lab.progress import Steps


@dataclass
class Results:
    """Results of the faults that were chosen."""

    cells: list[Cell] = field(default_factory=list)
    not_caused: dict[str, str] = field(default_factory=dict)
    """Why a fault had no effect, by its name."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Why this machine cannot cause a fault, by its name."""
    swept: Sweep | None = None
    """Result of the search for secrets; `None` if it was not made."""

    @property
    def not_tried(self) -> dict[str, str]:
        """Why a fault was not tried, by its name."""
        return {**self.not_caused, **self.unavailable}

    @property
    def leaks(self) -> list[str]:
        """Secrets that were found, with the output."""
        return self.swept.leaks if self.swept else []

    @property
    def are_kept(self) -> bool:
        """Whether all promises are kept in what was tried, but for those of a time."""
        return not self.leaks and not any(cell.broken_promises for cell in self.cells)

    @property
    def are_in_time(self) -> bool:
        """Whether all promised times are kept."""
        slowest = pick_p99(self.cells)
        return (slowest is None or slowest <= PICK_SECONDS) and not any(cell.missed_times for cell in self.cells)


async def run_matrix(
    faults: Sequence[Fault], litellm: str, data: Path, steps: Steps, *, quick: bool, seeks_secrets: bool
) -> Results:
    """Run the cells of `faults` that are not done yet, and return all. If `seeks_secrets`, also look for secrets."""
    commit, results = _commit(), Results()
    cells: dict[str, Cell] = {}
    for fault in faults:
        measured = read_result(result_path(data, litellm, fault.name), Measured)
        if measured is not None and measured.commit == commit and not quick:
            cells[fault.name] = measured.cell
    missing = [fault for fault in faults if fault.name not in cells]
    if missing or seeks_secrets:
        async with rig(litellm, steps) as running:
            for number, fault in enumerate(missing):
                if fault.needs_disk and running.disk is None:
                    results.unavailable[fault.name] = "it needs a disk in memory, which only root may mount"
                    continue
                try:
                    with steps.step(f"cell {number + 1} of {len(missing)}: {fault.about}"):
                        cell = await run_cell(running, fault, number, repeats=not quick)
                except FaultNotCaused as error:
                    results.not_caused[fault.name] = str(error)
                    continue
                if not quick:
                    write_result(result_path(data, litellm, fault.name), Measured(commit=commit, cell=cell))
                cells[fault.name] = cell
            if seeks_secrets:
                with steps.step("a search for secrets"):
                    results.swept = await sweep(running)
    results.cells = [cells[fault.name] for fault in faults if fault.name in cells]
    return results


def _commit() -> str:
    origin = provenance(engine="")
    return origin.commit + (", and changes beside it" if origin.dirty else "")


def summary(litellm: str, cells: Sequence[Cell], swept: Sweep, soaked: Soak | None) -> Matrix:
    """Return the summary of all results, to be committed."""
    origin = provenance(engine="")
    return Matrix(
        measured=datetime.now(tz=UTC).date().isoformat(),
        commit=_commit(),
        litellm=litellm,
        machine=f"{origin.machine}, {origin.cores} cores",
        rate=RATE,
        before_seconds=BEFORE_SECONDS,
        during_seconds=DURING_SECONDS,
        cells=list(cells),
        sweep=swept,
        soak=soaked,
    )
