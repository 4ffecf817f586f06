"""What all findings rest on: requests taken apart, and how many of them were somewhere at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from evenkeel_lab.diagnosis.concurrency import growth, in_flight, met
from evenkeel_lab.diagnosis.latency_breakdown import tenths, whole
from evenkeel_lab.diagnosis.processes import counted, sampled
from evenkeel_lab.diagnosis.requests import TIMES, Requests
from evenkeel_lab.diagnosis.slow_periods import spells
from evenkeel_load.records.record import MERGED
from evenkeel_load.records.resource_samples import Sample, Used

START = 1_800_000_000_000_000_000
moments = st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), min_size=1, max_size=60)


def ns(at: float | None) -> int | None:
    return None if at is None else START + round(at * 1e6)


def requests(rows: list[dict[str, Any]]) -> Requests:
    told = [
        dict.fromkeys(TIMES) | {"error": None, "retries": None, "user": None, "model_id": None} | row for row in rows
    ]
    schema = pa.schema([MERGED.field(name) for name in told[0]])
    return Requests.of(pa.Table.from_pylist(told, schema))


@st.composite
def any_request(draw: st.DrawFn) -> dict[str, Any]:
    """Whatever a client may have seen: errors, providers without times, answers out of a cache, streams."""
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
def test_whatever_was_seen_the_parts_are_the_whole(rows: list[dict[str, Any]]) -> None:
    found = requests(rows)
    known = found.known
    parts = found.wait + found.upstream + found.proxy + found.stream
    assert np.allclose(parts[known], found.latency[known], atol=1e-3)
    split = whole(found)
    if split.is_told:
        total = sum(split.share(part) for part in ("wait", "upstream", "proxy", "stream"))
        assert total == pytest.approx(1.0, abs=1e-3) or split.mean("latency") == 0
    told = tenths(found)
    assert sum(one.requests for one in told) in {0, len(rows)}
    assert sum(one.failed for one in told) in {0, split.failed}
    for spell in spells(found):
        assert 0 <= spell.begin < spell.end <= found.span / 1000 + 1e-6


@given(moments)
@settings(deadline=None)
def test_littles_law(seen: list[tuple[float, float]]) -> None:
    starts = np.array([start for start, _ in seen])
    ends = starts + np.array([took for _, took in seen])
    edges = np.linspace(0.0, 1.2e5, 7)
    inside = in_flight(starts, ends, edges) * np.diff(edges)
    assert inside.sum() == pytest.approx(float((ends - starts).sum()), rel=1e-6, abs=1e-3)
    assert (met(starts, ends, starts) >= 0).all()
    assert met(starts, ends, np.array([2e5]))[0] == 0


def test_growth_is_told_only_where_crowds_differ() -> None:
    others = np.tile([1.0, 2.0, 9.0, 10.0], 30)
    found = growth(others, 5.0 * others)
    assert found is not None
    assert (found.ratio, found.rank) == (pytest.approx(9.5 / 1.5, rel=0.2), pytest.approx(1.0))
    assert growth(others[:8], others[:8]) is None
    assert growth(np.full(200, 20.0), np.arange(200.0)) is None


def test_an_answer_out_of_a_cache_is_not_taken_apart() -> None:
    fresh = {
        "intended_ns": ns(0),
        "sent_ns": ns(0),
        "end_ns": ns(50),
        "mock_received_ns": ns(5),
        "mock_sent_ns": ns(45),
    }
    again = fresh | {"intended_ns": ns(100), "sent_ns": ns(100), "end_ns": ns(104)}
    found = requests([fresh, again])
    assert found.known.tolist() == [True, False]
    assert whole(found).mean("upstream") == pytest.approx(40)


def test_a_minority_says_nothing_of_the_rest() -> None:
    told = {"intended_ns": ns(0), "sent_ns": ns(0), "end_ns": ns(50), "mock_received_ns": ns(5), "mock_sent_ns": ns(45)}
    mute = told | {"mock_received_ns": None, "mock_sent_ns": None}
    assert whole(requests([told, told])).is_told
    assert not whole(requests([told, mute, mute])).is_told


def test_what_processes_used_is_told_by_process_or_by_program() -> None:
    samples = [
        Sample(1.0, 1.0, (Used(1, "python", 0.5, 0.2), Used(2, "python", 0.9, None)), 1.0),
        Sample(3.0, 2.0, (Used(1, "python", 1.0, 0.1),), 1.0),
    ]
    first, second = sampled(samples)
    assert (first.pid, first.used, first.waited) == (1, pytest.approx(0.5), pytest.approx(0.1))
    assert (second.pid, second.used, second.waited) == (2, pytest.approx(0.3), None)
    python, engine = counted({"query-engine": 2.0, "python": 6.0}, 10.0, workers=3)
    assert (python.each, engine.each) == (pytest.approx(0.2), pytest.approx(0.2))
