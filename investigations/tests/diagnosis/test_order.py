"""Diagnosis of the order in which requests leave the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.diagnosis.finding import Finding, Impact, Location

if TYPE_CHECKING:
    from evenkeel_load.records.record import Record


def stampede(folder: Any) -> Finding | None:
    return next((finding for finding in folder.diagnosis().findings if finding.check == "stampede"), None)


def burst(folder: Any, apart: float) -> list[Record]:
    """Return a hundred requests that come together and leave `apart` from each other, and later ones, a steady load."""
    together = [folder.record(number, 0.0, proxy=20.0 + number * apart) for number in range(100)]
    return together + [folder.record(100 + number, 10.0 + number * 20.0, proxy=20.0) for number in range(1000)]


def test_requests_that_leave_one_at_a_time_while_others_pass_are_a_stampede(folder: Any) -> None:
    finding = stampede(folder.load(burst(folder, apart=100.0), users=100))
    assert finding is not None
    assert (finding.location, finding.impact) == (Location.LOCAL, Impact.COSTS)
    assert finding.verdict.endswith(" to 9,920 ms, while later ones passed them")
    assert 30 <= finding.numbers["count"] <= 90
    assert finding.numbers["slowest_ms"] == 9920.0
    assert "came within one second, from second 0.0 on" in finding.because[2]
    assert "litellm_evenkeel.proxy.lean" in finding.hint


def test_a_burst_that_is_served_soon_is_none(folder: Any) -> None:
    assert stampede(folder.load(burst(folder, apart=5.0), users=100)) is None


def test_a_long_queue_is_none(folder: Any) -> None:
    assert stampede(folder.load(folder.one_after_another(100, 2000, 30.0), users=100)) is None


def test_requests_that_the_provider_keeps_are_none(folder: Any) -> None:
    rows = [folder.record(n, n * 20.0, upstream=9000.0 if n % 20 == 0 else 50.0, proxy=20.0) for n in range(1000)]
    assert stampede(folder.load(rows, users=30)) is None


def test_requests_with_failed_attempts_are_none(folder: Any) -> None:
    rows = [
        folder.record(n, n * 20.0, proxy=9000.0 if n % 20 == 0 else 20.0, retries=int(n % 20 == 0)) for n in range(1000)
    ]
    assert stampede(folder.load(rows, users=30)) is None


def test_a_few_slow_requests_are_chance(folder: Any) -> None:
    rows = [folder.record(n, n * 20.0, proxy=9000.0 if n in {5, 300, 600} else 20.0) for n in range(1000)]
    assert stampede(folder.load(rows, users=30)) is None
