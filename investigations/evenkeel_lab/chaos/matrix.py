"""The matrix: every fault in turn on one rig, then a search for secrets. What is done is not repeated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evenkeel_lab.chaos.cell import BEFORE_SECONDS, DURING_SECONDS, RATE, run_cell
from evenkeel_lab.chaos.rig import rig
from evenkeel_lab.chaos.sweep import sweep
from evenkeel_lab.runner.results.chaos_results import Cell, Matrix, Soak, Sweep, read_result, result_path, write_result
from evenkeel_lab.runner.results.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel_lab.chaos.faults import Fault
    from evenkeel_lab.progress import Steps

SWEEP = "sweep"


async def run_matrix(
    faults: Sequence[Fault], litellm: str, data: Path, steps: Steps, *, is_whole: bool
) -> tuple[list[Cell], Sweep | None]:
    """Run the cells of `faults` that are not done yet, and return all. If `is_whole`, also look for secrets."""
    cells = {fault.name: read_result(result_path(data, litellm, fault.name), Cell) for fault in faults}
    swept = read_result(result_path(data, litellm, SWEEP), Sweep) if is_whole else None
    missing = [fault for fault in faults if cells[fault.name] is None]
    if missing or (is_whole and swept is None):
        async with rig(litellm, steps) as running:
            possible = [fault for fault in missing if running.disk is not None or not fault.needs_disk]
            for number, fault in enumerate(possible):
                with steps.step(f"cell {number + 1} of {len(possible)}: {fault.about}"):
                    done = await run_cell(running, fault, seed=number)
                write_result(result_path(data, litellm, fault.name), done)
                cells[fault.name] = done
            if is_whole:
                with steps.step("a search for secrets"):
                    swept = await sweep(running)
                write_result(result_path(data, litellm, SWEEP), swept)
    return [cell for fault in faults if (cell := cells[fault.name]) is not None], swept


def summary(litellm: str, cells: Sequence[Cell], swept: Sweep, soaked: Soak | None) -> Matrix:
    """Return the summary of all results, to be committed."""
    origin = provenance(engine="")
    return Matrix(
        measured=datetime.now(tz=UTC).date().isoformat(),
        commit=origin.commit + (", and changes beside it" if origin.dirty else ""),
        litellm=litellm,
        machine=f"{origin.machine}, {origin.cores} cores",
        rate=RATE,
        before_seconds=BEFORE_SECONDS,
        during_seconds=DURING_SECONDS,
        cells=list(cells),
        sweep=swept,
        soak=soaked,
    )
