"""Criteria of a load, from a TOML file.

error_rate = 0.01            # of all requests
[calls.chat]                 # of one kind of request; `all` means all together
p95_ms = 400                 # latency; also p50_ms, p90_ms, p99_ms, p99_9_ms, mean_ms, max_ms
error_rate = 0.005
above_1s = 0.02              # share of the latencies; also above_5s
[proxy]                      # of the process of --pid and its descendants
cpu = 0.95                   # of a core, in the mean
memory_mib = 900             # at most
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from evenkeel_load.analysis.summary import ALL
from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from evenkeel_load.analysis.summary import Calls, Summary
    from evenkeel_load.proxy import Usage

QUANTILES = {"p50_ms": "p50", "p90_ms": "p90", "p95_ms": "p95", "p99_ms": "p99", "p99_9_ms": "p99.9"}
OF_CALLS = (*QUANTILES, "mean_ms", "max_ms", "error_rate", "above_1s", "above_5s")
OF_PROXY = ("cpu", "memory_mib")
MOST = 1e12
TOP = ("error_rate", "calls", "proxy")


@dataclass(frozen=True)
class Judged:
    """A criterion with its measured value."""

    what: str
    limit: float
    measured: float | None
    """`None` if there are too few requests."""

    @property
    def ok(self) -> bool:
        """Whether the value is within the limit."""
        return self.measured is not None and self.measured <= self.limit

    def document(self) -> dict[str, Any]:
        """Return the criterion as a JSON document."""
        return {"what": self.what, "limit": self.limit, "found": self.measured, "ok": self.ok}


@dataclass(frozen=True)
class Criteria:
    """All criteria of a file."""

    error_rate: float | None
    calls: Mapping[str, Mapping[str, float]]
    proxy: Mapping[str, float]

    def check(self, calls: Collection[str], *, watched: bool) -> None:
        """Raise for a criterion of a kind that is not sent, or of a process that is not watched."""
        for name in self.calls:
            if name not in {*calls, ALL}:
                _refuse(f"calls.{name}", name, (*calls, ALL))
        if self.proxy and not watched:
            raise LoadConfigError("[proxy] needs a process to watch.", hint="Name it with --pid.")

    def judge(self, summary: Summary, usage: Usage | None) -> list[Judged]:
        """Return each criterion with its measured value, step by step."""
        judged: list[Judged] = []
        for step in summary.steps:
            prefix = f"{step.users} users: " if len(summary.steps) > 1 else ""
            if self.error_rate is not None:
                together = step.calls.get(ALL) or next(iter(step.calls.values()), None)
                rate = together.error_rate if together is not None else None
                judged.append(Judged(f"{prefix}error_rate", self.error_rate, rate))
            for name, limits in self.calls.items():
                calls = step.calls.get(name) or (next(iter(step.calls.values()), None) if name == ALL else None)
                judged += (
                    Judged(f"{prefix}{name} {key}", limit, None if calls is None else _figure(calls, key))
                    for key, limit in limits.items()
                )
        judged += (
            Judged(f"proxy {key}", limit, None if usage is None else getattr(usage, key))
            for key, limit in self.proxy.items()
        )
        return judged


def read_criteria(path: Path) -> Criteria:
    """Read a file. An unknown key is an error that names the nearest valid one."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LoadConfigError(
            f"{path} cannot be read: {error}.", hint="Correct it; docs/load.md shows an example."
        ) from error
    _known(given, TOP, str(path))
    rate = given.get("error_rate")
    calls = _table(given.get("calls", {}), f"{path}: calls")
    return Criteria(
        None if rate is None else _number(rate, f"{path}: error_rate"),
        {name: _limits(limits, OF_CALLS, f"{path}: calls.{name}") for name, limits in calls.items()},
        _limits(given.get("proxy", {}), OF_PROXY, f"{path}: proxy"),
    )


def _figure(calls: Calls, key: str) -> float | None:
    if key in {"error_rate", "above_1s", "above_5s"}:
        figure: float = getattr(calls, key)
        return figure
    if calls.latency is None:
        return None
    if key in QUANTILES:
        return calls.latency.quantiles.get(QUANTILES[key])
    return calls.latency.mean if key == "mean_ms" else calls.latency.most


def _limits(value: object, valid: tuple[str, ...], where: str) -> dict[str, float]:
    table = _table(value, where)
    _known(table, valid, where)
    return {key: _number(limit, f"{where}: {key}") for key, limit in table.items()}


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise LoadConfigError(f"{where}: expected a table.", hint="docs/load.md shows an example.")
    return value


def _known(given: Mapping[str, Any], valid: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in valid:
            _refuse(where, key, valid)


def _refuse(where: str, key: str, valid: tuple[str, ...]) -> NoReturn:
    close = difflib.get_close_matches(key, valid, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(valid)}."
    raise LoadConfigError(f"{where}: there is no {key!r}.", hint=hint)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        raise LoadConfigError(f"{where}: expected a number from 0 to {MOST:.0e}, got {value!r}.", hint="Correct it.")
    return float(value)
