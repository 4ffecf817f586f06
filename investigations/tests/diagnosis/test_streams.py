"""Whose pace streams keep, of loads of which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_load.records.record import Record


def finding(found: Diagnosis, check: str) -> Finding:
    return next(one for one in found.findings if one.check == check)


def state(found: Diagnosis, check: str) -> State | None:
    return next((one.state for one in found.findings if one.check == check), None)


def streamed(folder: Any, gaps: Callable[[int], float], count: int = 100) -> list[Record]:
    rows = []
    for n in range(count):
        one = folder.record(n, n * 500.0, upstream=100.0)
        times = one.end_ns + np.cumsum([int(gaps(k) * 1e6) for k in range(20)])
        first, last = int(times[0]), int(times[-1])
        told = {"first_token_ns": first, "last_token_ns": last, "end_ns": last, "chunk_ns": times.tolist()}
        rows.append(one._replace(call="stream", **told))
    return rows


@pytest.mark.parametrize(("long", "told"), [(20.0, State.CLEAR), (400.0, State.COSTS)])
def test_streams_that_stutter(folder: Any, long: float, told: State) -> None:
    found = folder.load(streamed(folder, lambda k: long if k == 10 else 20.0)).diagnosis()
    assert state(found, "streams") is told


def test_whose_pace_a_stream_keeps_is_not_made_up(folder: Any) -> None:
    found = folder.load(streamed(folder, lambda _: 20.0)).proxy(0.3).diagnosis()
    assert (found.bound, state(found, "upstream"), state(found, "pace")) == (Bound.UNKNOWN, State.CLEAR, State.UNTOLD)
    assert found.headline == (
        "cannot be told: whether streaming, which took 75% of the time, kept the provider's pace or the proxy's, was "
        "not recorded"
    )
    assert "load the provider directly" in finding(found, "pace").hint


def test_streams_of_a_provider_that_takes_its_time_before_them_are_its_own(folder: Any) -> None:
    found = folder.load(streamed(folder, lambda _: 1.0)).diagnosis()
    assert found.headline == "upstream-bound: 80% of the time was the provider's"
    assert "pace" not in {one.check for one in found.findings}


def test_a_process_that_is_full_may_hold_streams_up(folder: Any) -> None:
    found = folder.load(streamed(folder, lambda _: 20.0)).proxy(0.95).diagnosis()
    assert (found.bound, state(found, "cpu")) == (Bound.LOCAL, State.BINDS)


def test_the_streams_of_the_mock_alone_are_its_own(folder: Any) -> None:
    found = folder.load(streamed(folder, lambda _: 20.0)).session("direct").diagnosis()
    assert (found.bound, finding(found, "upstream").sure) == (Bound.UPSTREAM, Sure.HIGH)


def test_streams_that_become_slower_and_slower_are_not_blamed_on_the_provider(folder: Any) -> None:
    rows = streamed(folder, lambda _: 20.0, count=200)
    slower = [one._replace(end_ns=one.end_ns + n * 10_000_000) for n, one in enumerate(rows)]
    found = finding(folder.load(slower).diagnosis(), "trend")
    assert (found.place, found.because[-1]) == (Place.NOWHERE, "most of it streaming")
