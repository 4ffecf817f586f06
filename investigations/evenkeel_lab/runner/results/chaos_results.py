"""Results of the matrix of faults: a file for each cell that is done, and the committed summary of all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import scipy.stats
from pydantic import BaseModel, ValidationError

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE, FOLDER, SCHEMA = "chaos.json", "chaos", 3
# What the plugin promises. There may be a line in the log for each kind of budget, or for each connection.
RECOVERY_SECONDS, VISIBLE_SECONDS, MOST_LOG_LINES = 5.0, 1.0, 6
# Of two proxies that are equally good, one loses a request more by chance. So the plugin serves less only if Fisher's
# exact test says so at this level.
SIGNIFICANCE = 0.01
MOST_PLUGIN_LINES = 40
# `cooldown.max_rate_limit`, and the random part that is added.
LONGEST_COOLDOWN_SECONDS = 1800.0 + 2.0
PICK_SECONDS, MIN_PICKS = 0.002, 1000
# A slope below this share of a value a minute is none.
RISING_SHARE = 0.001

Result = TypeVar("Result", bound=BaseModel)


class ProxyResult(BaseModel):
    """One proxy in a cell."""

    requests: int
    """Requests from the beginning of the fault on."""
    served: int
    recovered_after: float
    """Seconds from the fault's end until the last failed request was due; 0 if none failed afterwards."""
    calm_latencies: list[float]
    """Seconds of the requests before the fault."""

    @property
    def served_share(self) -> float:
        """Share of requests that were served, from the beginning of the fault on."""
        return self.served / self.requests if self.requests else 1.0

    def merged_with(self, other: ProxyResult) -> ProxyResult:
        """Return the result of both together."""
        return ProxyResult(
            requests=self.requests + other.requests,
            served=self.served + other.served,
            recovered_after=max(self.recovered_after, other.recovered_after),
            calm_latencies=[*self.calm_latencies, *other.calm_latencies],
        )


class Cell(BaseModel):
    """Result of a cell."""

    fault: str
    about: str
    plugin: ProxyResult
    stock: ProxyResult
    metric: str
    """Metric of the plugin that has to show the fault; empty if the plugin is not concerned."""
    log: str
    """Words that the plugin has to log; empty if it need not log, for instance because it did in the last minute."""
    first_failure_after: float
    """Seconds until a request can fail of it: until one meets it, and if the provider hangs, until its timeout."""
    metric_after: float | None
    """Seconds until the metric changed; `None` if it did not."""
    log_after: float | None
    log_lines: int
    """Lines of the log with these words."""
    plugin_lines: int
    """All lines of the log that come from the plugin."""
    crashes: list[str]
    """Stack traces of the plugin's workers that crashed since the last cell."""
    longest_cooldown: float | None
    """Seconds of the longest cooldown when the fault ended, quarantines left out; `None` if there was none."""
    picks: dict[str, float]
    """Histogram of the time to pick an account: the number of picks up to each bound in seconds."""
    may_lose_records: bool
    """Whether a worker is killed, whose waiting records are lost."""
    lost_records: int
    """Served requests without a record in the journal."""

    @property
    def serves_less(self) -> bool:
        """Whether the plugin serves a smaller share than LiteLLM alone, by more than chance explains."""
        lost_and_served = np.array([[each.requests - each.served, each.served] for each in (self.plugin, self.stock)])
        return bool(scipy.stats.fisher_exact(lost_and_served, alternative="greater").pvalue <= SIGNIFICANCE)

    @property
    def broken_promises(self) -> list[str]:
        """The promises that this cell does not keep, but for those of a time."""
        kept = {
            "served": not self.serves_less,
            "records": self.lost_records == 0 or self.may_lose_records,
            "crash": not self.crashes,
            "visible": None not in self._sightings,
            "log": self.log_lines <= MOST_LOG_LINES and self.plugin_lines <= MOST_PLUGIN_LINES,
            "cooldown": (self.longest_cooldown or 0.0) <= LONGEST_COOLDOWN_SECONDS,
        }
        return [name for name, is_kept in kept.items() if not is_kept]

    @property
    def missed_times(self) -> list[str]:
        """The promised times that this cell does not keep. A machine that is busy with something else misses them."""
        visible_by = self.first_failure_after + VISIBLE_SECONDS
        kept = {
            "recovery time": self.plugin.recovered_after <= RECOVERY_SECONDS,
            "time until visible": all((after or 0.0) <= visible_by for after in self._sightings),
        }
        return [name for name, is_kept in kept.items() if not is_kept]

    @property
    def _sightings(self) -> list[float | None]:
        wanted = ((self.metric, self.metric_after), (self.log, self.log_after))
        return [after for name, after in wanted if name]

    def merged_with(self, other: Cell) -> Cell:
        """Return this cell with the requests of a repetition, and the worse of all else."""
        return self.model_copy(
            update={
                "plugin": self.plugin.merged_with(other.plugin),
                "stock": self.stock.merged_with(other.stock),
                "metric_after": _later(self.metric_after, other.metric_after),
                # A repetition comes too soon for another line of the log.
                "log": self.log or other.log,
                "log_after": self.log_after if self.log else other.log_after,
                "log_lines": max(self.log_lines, other.log_lines),
                "plugin_lines": max(self.plugin_lines, other.plugin_lines),
                "crashes": [*self.crashes, *other.crashes],
                "longest_cooldown": max(self.longest_cooldown or 0.0, other.longest_cooldown or 0.0),
                "picks": {
                    bound: self.picks.get(bound, 0.0) + other.picks.get(bound, 0.0)
                    for bound in {**self.picks, **other.picks}
                },
                "lost_records": self.lost_records + other.lost_records,
            }
        )


def _later(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else max(first, second)


def pick_p99(cells: Sequence[Cell]) -> float | None:
    """Return an upper bound of the p99 of the time to pick an account, in seconds; `None` with too few picks.

    A cell alone has too few: the slowest of a hundred picks says more of the machine than of the plugin.
    """
    counts: dict[float, float] = {}
    for cell in cells:
        for bound, count in cell.picks.items():
            counts[float(bound)] = counts.get(float(bound), 0.0) + count
    total = max(counts.values(), default=0.0)
    return min(bound for bound, count in counts.items() if count >= 0.99 * total) if total >= MIN_PICKS else None


class Measured(BaseModel):
    """A result with the code that it was measured with."""

    commit: str
    cell: Cell


class Sweep(BaseModel):
    """Result of the search for secrets."""

    secrets: int
    """Number of secrets that were planted."""
    kinds: int
    outputs: list[str]
    leaks: list[str]
    """Secrets that were found, with the output."""


class Growth(BaseModel):
    """Slope of a metric during the soak, for each minute, with its interval."""

    what: str
    last: float
    slope: float
    low: float
    high: float

    @property
    def is_rising(self) -> bool:
        """Whether the metric surely rises, by more than a thousandth of its value a minute."""
        return self.low > RISING_SHARE * max(abs(self.last), 1.0)


class Soak(BaseModel):
    """Result of the soak."""

    minutes: float
    requests: int
    served: int
    growths: list[Growth]


class Matrix(BaseModel):
    """The committed summary."""

    measured: str
    """The day."""
    commit: str
    litellm: str
    machine: str
    rate: float
    """Requests a second at each proxy."""
    before_seconds: float
    during_seconds: float
    cells: list[Cell]
    sweep: Sweep
    soak: Soak | None = None


def result_path(data: Path, litellm: str, name: str) -> Path:
    """Return the path of the result of a cell, or of the soak."""
    return data / FOLDER / litellm / f"{name}.json"


def read_result(path: Path, kind: type[Result]) -> Result | None:
    """Return a result that is there; `None` if it is not, or if an older version wrote it."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write_result(path: Path, result: BaseModel) -> None:
    """Write the result of a cell, or of the soak."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, result.model_dump_json())


def write_matrix(root: Path, matrix: Matrix) -> Path:
    """Write the committed summary below `root`, and return its path."""
    content = {"schema": SCHEMA, **matrix.model_dump()}
    for cell in content["cells"]:
        for proxy in ("plugin", "stock"):
            cell[proxy]["calm_latencies"] = [round(seconds, 4) for seconds in cell[proxy]["calm_latencies"]]
    path = root / FILE
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    return path


def read_matrix(root: Path) -> Matrix | None:
    """Return the committed summary; `None` if the matrix has not been measured."""
    path = root / FILE
    if not path.is_file():
        return None
    return parse_json(Matrix, read_text(path, _refused), str(path), _refused, SCHEMA)


def _refused(what: str) -> WrongUse:
    return WrongUse(what, hint="Restore it from git, or measure the matrix again with --write.")
