"""The latencies of a run in a few dozen numbers: enough for all figures of a report, small enough to be committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ConfigDict

from evenkeel_lab.errors import RigFailure
from evenkeel_load.analysis.statistics import quantiles
from evenkeel_load.records.folder import RECORDS

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

# A quantile needs this number of requests beyond it.
LEAST_BEYOND = 20
GRID = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
# Latencies from a tenth of a millisecond to a hundred seconds, four bins to a factor of ten.
EDGES_MS = np.logspace(-1, 5, 25)
TIMES = 20
NS_PER_MS = 1e6


@dataclass(frozen=True)
class Sketch:
    """Latencies of a run: quantiles, and a histogram over time."""

    quantiles: dict[str, float]
    """Latencies in milliseconds, by the share of requests that are faster."""
    over_time: list[list[int]]
    """The number of requests in each bin of latencies, for each twentieth of the run."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)


def sketch(folder: Path) -> Sketch:
    """Compute the sketch of a run from its records."""
    path = folder / RECORDS
    try:
        table = pq.read_table(path, columns=["intended_ns", "end_ns", "error"])
    except (pa.ArrowException, OSError) as error:
        raise RigFailure(f"{path} cannot be read: {error}.", hint="Begin the session again, with --fresh.") from error
    good = table.filter(pc.is_null(table["error"]))
    intended, end = (good[name].to_numpy() for name in ("intended_ns", "end_ns"))
    latencies = (end - intended) / NS_PER_MS
    grid = [share for share in GRID if len(latencies) * min(share, 1 - share) >= LEAST_BEYOND]
    values = dict(zip(map(str, grid), quantiles(latencies, grid), strict=True))
    return Sketch({share: round(value, 4) for share, value in values.items()}, _over_time(intended, latencies))


def _over_time(intended: npt.NDArray[np.int64], latencies: npt.NDArray[np.float64]) -> list[list[int]]:
    if not len(intended):
        return [[0] * (len(EDGES_MS) - 1)] * TIMES
    span = max(1, int(np.ptp(intended)))
    when = np.minimum((intended - intended.min()) * TIMES // span, TIMES - 1)
    counts, _, _ = np.histogram2d(when, latencies, bins=(np.arange(TIMES + 1), EDGES_MS))
    rows: list[list[int]] = counts.astype(int).tolist()
    return rows
