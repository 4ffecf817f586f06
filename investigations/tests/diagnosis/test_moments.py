"""Diagnosis of synthetic loads with stalls and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from evenkeel_load.records.record import Record


def finding(diagnosis: Diagnosis, check: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.check == check)


def impact(diagnosis: Diagnosis, check: str) -> Impact | None:
    return next((finding.impact for finding in diagnosis.findings if finding.check == check), None)


def steady(folder: Any, count: int = 400, every: float = 50.0, **fields: Any) -> list[Record]:
    return [folder.record(number, number * every, **fields) for number in range(count)]


def stalled(folder: Any, where: str) -> list[Record]:
    """Return 20 requests per second for a minute, with a stall of 3 s at second 40."""
    rows = []
    for n in range(1200):
        due = n * 50.0
        halt = max(0.0, 43_000.0 - due) if 40_000 <= due < 43_000 else 0.0
        parts = {"upstream": 30.0, "proxy": 10.0}
        parts[where] += halt
        row = folder.record(n, due, **parts)
        if where == "proxy":
            # The stall lies before the provider.
            received = row.sent_ns + int((halt + 5.0) * 1e6)
            row = row._replace(mock_received_ns=received, mock_sent_ns=received + 30_000_000)
        rows.append(row)
    return rows


@pytest.mark.parametrize(("where", "location"), [("upstream", Location.UPSTREAM), ("proxy", Location.LOCAL)])
def test_a_stall_is_reported_with_its_period_and_location(folder: Any, where: str, location: Location) -> None:
    diagnosis = folder.load(stalled(folder, where)).proxy(0.2).diagnosis()
    (period,) = diagnosis.slow_periods
    assert (period.location, period.where) == (location, where)
    assert period.begin == pytest.approx(40, abs=1.1)
    assert period.end == pytest.approx(43, abs=1.1)
    assert period.silence == pytest.approx(3, abs=0.2)
    assert diagnosis.details[-1].startswith(f"From second {period.begin:.1f} to {period.end:.1f}")
    assert any("used 0.20 of a core" in line for line in finding(diagnosis, "time").because)


def test_errors_with_headers_of_the_provider_are_upstream_bound(folder: Any) -> None:
    good = steady(folder)
    refused = [replace_error(row, "http_429") for row in good[:250]] + good[250:]
    diagnosis = folder.load(refused).diagnosis()
    assert diagnosis.headline == "upstream-bound: requests were refused for being too many, by the provider"
    assert (diagnosis.split.failed, diagnosis.split.requests) == (250, 400)


def test_errors_without_headers_of_the_provider_have_an_unknown_location(folder: Any) -> None:
    rows = [replace_error(row, "http_429", mock_received_ns=None, mock_sent_ns=None) for row in steady(folder)[:300]]
    diagnosis = folder.load([*rows, *steady(folder)[300:]]).diagnosis()
    assert (diagnosis.bound, finding(diagnosis, "limits").confidence) == (Bound.UNKNOWN, Confidence.FAIR)


@pytest.mark.parametrize(
    ("error", "check"),
    [
        ("http_401", "keys"),
        ("http_503", "failures"),
        ("timeout", "timeouts"),
        ("reset", "connections"),
        ("cut_short", "answers"),
    ],
)
def test_each_error_class_belongs_to_a_check(folder: Any, error: str, check: str) -> None:
    rows = steady(folder)
    rows[100:110] = [replace_error(row, error) for row in rows[100:110]]
    diagnosis = folder.load(rows).diagnosis()
    assert (impact(diagnosis, check), impact(diagnosis, "errors")) == (Impact.COSTS, None)
    assert finding(diagnosis, check).because[0] == f"10 of 400 requests (2.5%): {error}"


def replace_error(row: Record, error: str, **fields: Any) -> Record:
    return row._replace(error=error, **fields)
