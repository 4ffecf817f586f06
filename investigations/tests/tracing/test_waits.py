"""The time of a request by what it waited for."""

from __future__ import annotations

from hypothesis import given, strategies as st

from evenkeel_lab.stack.probes.traces_of_proxy import AUTHENTICATION, DATABASE, PROVIDER, REDIS
from evenkeel_lab.tracing.waits import OTHER, PARTS, waits

MOMENTS = st.integers(-50, 150)
SPANS = st.lists(st.tuples(st.sampled_from([AUTHENTICATION, DATABASE, REDIS, PROVIDER]), MOMENTS, MOMENTS))


def test_a_moment_counts_for_the_innermost_part() -> None:
    spans = [(DATABASE, 20, 60), (REDIS, 50, 70), (AUTHENTICATION, 10, 80), (PROVIDER, 90, 95)]
    assert waits(100, spans) == {AUTHENTICATION: 20, DATABASE: 40, REDIS: 10, PROVIDER: 5, OTHER: 25}


def test_what_lies_outside_of_the_request_does_not_count() -> None:
    assert waits(100, [(REDIS, -10, 10), (REDIS, 95, 400)])[REDIS] == 15


@given(st.integers(0, 120), SPANS)
def test_all_parts_together_are_the_whole_request(duration: int, spans: list[tuple[str, int, int]]) -> None:
    parts = waits(duration, spans)
    assert parts.keys() == set(PARTS)
    assert sum(parts.values()) == duration
    assert min(parts.values()) >= 0


@given(SPANS)
def test_only_parts_with_a_span_have_time(spans: list[tuple[str, int, int]]) -> None:
    with_time = {part for part, time in waits(100, spans).items() if time}
    assert with_time <= {part for part, _, _ in spans} | {OTHER}
