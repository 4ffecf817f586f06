"""Numbers behind the findings: parts of latencies, concurrency and CPU usage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from evenkeel_lab.diagnosis.concurrency import concurrent_at, in_flight, measure_slowdown
from evenkeel_lab.diagnosis.latency_breakdown import split_of, tenths
from evenkeel_lab.diagnosis.processes import processes_of_run, processes_of_samples
from evenkeel_lab.diagnosis.requests import TIMES, Requests
from evenkeel_lab.diagnosis.slow_periods import slow_periods
from evenkeel_load.records.record import MERGED
from evenkeel_load.records.resource_samples import Sample, Used

START = 1_800_000_000_000_000_000
moments = st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), min_size=1, max_size=60)


def ns(at: float | None) -> int | None:
    return None if at is None else START + round(at * 1e6)


def requests(rows: list[dict[str, Any]]) -> Requests:
    complete = [
        dict.fromkeys(TIMES) | {"error": None, "retries": None, "user": None, "model_id": None} | row for row in rows
    ]
    schema = pa.schema([MERGED.field(name) for name in complete[0]])
    return Requests.of(pa.Table.from_pylist(complete, schema))


@st.composite
def any_request(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a request: an error, an answer without the provider's times, a cached one or a stream."""
    due = draw(st.floats(0, 6e4))
    sent = due + draw(st.floats(0, 500))
    end = sent + draw(st.floats(0, 5e3))
    received = draw(st.none() | st.floats(0, 7e4) | st.just(sent))
    answered = None if received is None else draw(st.floats(-10, 5e3).map(lambda took: received + took))
    return {
        "intended_ns": ns(due),
        "sent_ns": ns(sent),
        "end_ns": ns(end),
        "first_token_ns": ns(draw(st.none() | st.floats(sent, end))),
        "mock_received_ns": ns(received),
        "mock_sent_ns": ns(answered),
        "error": draw(st.sampled_from([None, None, None, "http_429", "timeout"])),
    }


@given(st.lists(any_request(), min_size=1, max_size=80))
@settings(max_examples=60, deadline=None)
def test_the_parts_of_a_latency_add_up_to_it(rows: list[dict[str, Any]]) -> None:
    parsed = requests(rows)
    known = parsed.known
    parts = parsed.wait + parsed.upstream + parsed.proxy + parsed.stream
    assert np.allclose(parts[known], parsed.latency[known], atol=1e-3)
    split = split_of(parsed)
    if split.is_upstream_known:
        total = sum(split.share(part) for part in ("wait", "upstream", "proxy", "stream"))
        assert total == pytest.approx(1.0, abs=1e-3) or split.mean("latency") == 0
    parts = tenths(parsed)
    assert sum(tenth.requests for tenth in parts) in {0, len(rows)}
    assert sum(tenth.failed for tenth in parts) in {0, split.failed}
    for period in slow_periods(parsed):
        assert 0 <= period.begin < period.end <= parsed.span / 1000 + 1e-6


@given(moments)
@settings(deadline=None)
def test_the_time_in_flight_equals_the_sum_of_the_latencies(seen: list[tuple[float, float]]) -> None:
    starts = np.array([start for start, _ in seen])
    ends = starts + np.array([took for _, took in seen])
    edges = np.linspace(0.0, 1.2e5, 7)
    inside = in_flight(starts, ends, edges) * np.diff(edges)
    assert inside.sum() == pytest.approx(float((ends - starts).sum()), rel=1e-6, abs=1e-3)
    assert (concurrent_at(starts, ends, starts) >= 0).all()
    assert concurrent_at(starts, ends, np.array([2e5]))[0] == 0


def test_slowdown_is_measured_only_if_concurrency_differs() -> None:
    concurrency = np.tile([1.0, 2.0, 9.0, 10.0], 30)
    slowdown = measure_slowdown(concurrency, 5.0 * concurrency)
    assert slowdown is not None
    assert (slowdown.ratio, slowdown.rank) == (pytest.approx(9.5 / 1.5, rel=0.2), pytest.approx(1.0))
    assert measure_slowdown(concurrency[:8], concurrency[:8]) is None
    assert measure_slowdown(np.full(200, 20.0), np.arange(200.0)) is None


def test_the_parts_of_a_cached_answer_are_unknown() -> None:
    fresh = {
        "intended_ns": ns(0),
        "sent_ns": ns(0),
        "end_ns": ns(50),
        "mock_received_ns": ns(5),
        "mock_sent_ns": ns(45),
    }
    again = fresh | {"intended_ns": ns(100), "sent_ns": ns(100), "end_ns": ns(104)}
    parsed = requests([fresh, again])
    assert parsed.known.tolist() == [True, False]
    assert split_of(parsed).mean("upstream") == pytest.approx(40)


def test_a_minority_with_known_parts_is_not_used() -> None:
    known = {
        "intended_ns": ns(0),
        "sent_ns": ns(0),
        "end_ns": ns(50),
        "mock_received_ns": ns(5),
        "mock_sent_ns": ns(45),
    }
    mute = known | {"mock_received_ns": None, "mock_sent_ns": None}
    assert split_of(requests([known, known])).is_upstream_known
    assert not split_of(requests([known, mute, mute])).is_upstream_known


def test_cpu_usage_is_given_by_process_or_by_program() -> None:
    samples = [
        Sample(1.0, 1.0, (Used(1, "python", 0.5, 0.2), Used(2, "python", 0.9, None)), 1.0),
        Sample(3.0, 2.0, (Used(1, "python", 1.0, 0.1),), 1.0),
    ]
    first, second = processes_of_samples(samples)
    assert (first.pid, first.used, first.waited) == (1, pytest.approx(0.5), pytest.approx(0.1))
    assert (second.pid, second.used, second.waited) == (2, pytest.approx(0.3), None)
    python, engine = processes_of_run({"query-engine": 2.0, "python": 6.0}, 10.0, workers=3)
    assert (python.each, engine.each) == (pytest.approx(0.2), pytest.approx(0.2))
