"""Times of requests of the matrix."""

from __future__ import annotations

from evenkeel_lab.chaos.traffic import due_times


def test_requests_come_at_random_and_at_the_same_times_for_the_same_seed() -> None:
    times = due_times(10.0, 100.0, seed=1)
    assert times == due_times(10.0, 100.0, seed=1)
    assert times != due_times(10.0, 100.0, seed=2)
    assert times == sorted(times)
    assert all(0 < time < 100 for time in times)
    assert 850 < len(times) < 1150
