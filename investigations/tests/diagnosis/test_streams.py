"""Diagnosis of synthetic loads of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_load.records.record import Record


def finding(diagnosis: Diagnosis, check: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.check == check)


def impact(diagnosis: Diagnosis, check: str) -> Impact | None:
    return next((finding.impact for finding in diagnosis.findings if finding.check == check), None)


def streamed(folder: Any, gaps: Callable[[int], float], count: int = 100) -> list[Record]:
    rows = []
    for n in range(count):
        row = folder.record(n, n * 500.0, upstream=100.0)
        times = row.end_ns + np.cumsum([int(gaps(k) * 1e6) for k in range(20)])
        first, last = int(times[0]), int(times[-1])
        times_of_row = {"first_token_ns": first, "last_token_ns": last, "end_ns": last, "chunk_ns": times.tolist()}
        rows.append(row._replace(call="stream", **times_of_row))
    return rows


@pytest.mark.parametrize(("long", "expected"), [(20.0, Impact.CLEAR), (400.0, Impact.COSTS)])
def test_stuttering_streams_are_reported(folder: Any, long: float, expected: Impact) -> None:
    diagnosis = folder.load(streamed(folder, lambda k: long if k == 10 else 20.0)).diagnosis()
    assert impact(diagnosis, "streams") is expected


def test_the_bound_is_unknown_if_streams_took_most_of_the_time(folder: Any) -> None:
    diagnosis = folder.load(streamed(folder, lambda _: 20.0)).proxy(0.3).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "upstream"), impact(diagnosis, "pace")) == (
        Bound.UNKNOWN,
        Impact.CLEAR,
        Impact.UNKNOWN,
    )
    assert diagnosis.headline == (
        "unknown: whether streaming, which took 75% of the time, kept the provider's pace or the proxy's, was "
        "not recorded"
    )
    assert "load the provider directly" in finding(diagnosis, "pace").hint


def test_short_streams_after_a_long_wait_are_upstream_bound(folder: Any) -> None:
    diagnosis = folder.load(streamed(folder, lambda _: 1.0)).diagnosis()
    assert diagnosis.headline == "upstream-bound: 80% of the time was the provider's"
    assert "pace" not in {finding.check for finding in diagnosis.findings}


def test_a_saturated_process_that_may_delay_streams_is_local_bound(folder: Any) -> None:
    diagnosis = folder.load(streamed(folder, lambda _: 20.0)).proxy(0.95).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "cpu")) == (Bound.LOCAL, Impact.BINDS)


def test_streams_of_a_run_of_the_mock_alone_are_upstream_bound(folder: Any) -> None:
    diagnosis = folder.load(streamed(folder, lambda _: 20.0)).session("direct").diagnosis()
    assert (diagnosis.bound, finding(diagnosis, "upstream").confidence) == (Bound.UPSTREAM, Confidence.HIGH)


def test_a_trend_in_streams_has_an_unknown_location(folder: Any) -> None:
    rows = streamed(folder, lambda _: 20.0, count=200)
    slower = [row._replace(end_ns=row.end_ns + n * 10_000_000) for n, row in enumerate(rows)]
    result = finding(folder.load(slower).diagnosis(), "trend")
    assert (result.location, result.because[-1]) == (Location.UNKNOWN, "most of it streaming")
