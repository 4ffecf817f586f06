"""What happened at a moment, and whose errors they were, of loads of which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure

if TYPE_CHECKING:
    from evenkeel_load.records.record import Record


def finding(found: Diagnosis, check: str) -> Finding:
    return next(one for one in found.findings if one.check == check)


def state(found: Diagnosis, check: str) -> State | None:
    return next((one.state for one in found.findings if one.check == check), None)


def steady(folder: Any, count: int = 400, every: float = 50.0, **fields: Any) -> list[Record]:
    return [folder.record(number, number * every, **fields) for number in range(count)]


def stalled(folder: Any, where: str) -> list[Record]:
    """Twenty a second for a minute; at second 40 something stands still for three seconds."""
    rows = []
    for n in range(1200):
        due = n * 50.0
        halt = max(0.0, 43_000.0 - due) if 40_000 <= due < 43_000 else 0.0
        parts = {"upstream": 30.0, "proxy": 10.0}
        parts[where] += halt
        one = folder.record(n, due, **parts)
        if where == "proxy":
            # It stands still before it asks the provider.
            received = one.sent_ns + int((halt + 5.0) * 1e6)
            one = one._replace(mock_received_ns=received, mock_sent_ns=received + 30_000_000)
        rows.append(one)
    return rows


@pytest.mark.parametrize(("where", "place"), [("upstream", Place.UPSTREAM), ("proxy", Place.LOCAL)])
def test_what_happened_at_second_40(folder: Any, where: str, place: Place) -> None:
    found = folder.load(stalled(folder, where)).proxy(0.2).diagnosis()
    (spell,) = found.spells
    assert (spell.place, spell.where) == (place, where)
    assert spell.begin == pytest.approx(40, abs=1.1)
    assert spell.end == pytest.approx(43, abs=1.1)
    assert spell.silence == pytest.approx(3, abs=0.2)
    assert found.details[-1].startswith(f"From second {spell.begin:.1f} to {spell.end:.1f}")
    assert any("used 0.20 of a core" in told for told in finding(found, "time").because)


def test_errors_say_whose_they_are(folder: Any) -> None:
    good = steady(folder)
    refused = [replace_error(one, "http_429") for one in good[:250]] + good[250:]
    found = folder.load(refused).diagnosis()
    assert found.headline == "upstream-bound: requests were refused for being too many, by the provider"
    assert (found.split.failed, found.split.requests) == (250, 400)


def test_errors_without_the_providers_headers_blame_nobody(folder: Any) -> None:
    rows = [replace_error(one, "http_429", mock_received_ns=None, mock_sent_ns=None) for one in steady(folder)[:300]]
    found = folder.load([*rows, *steady(folder)[300:]]).diagnosis()
    assert (found.bound, finding(found, "limits").sure) == (Bound.UNKNOWN, Sure.FAIR)


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
def test_every_class_of_error_has_its_group(folder: Any, error: str, check: str) -> None:
    rows = steady(folder)
    rows[100:110] = [replace_error(one, error) for one in rows[100:110]]
    found = folder.load(rows).diagnosis()
    assert (state(found, check), state(found, "errors")) == (State.COSTS, None)
    assert finding(found, check).because[0] == f"10 of 400 requests (2.5%): {error}"


def replace_error(one: Record, error: str, **fields: Any) -> Record:
    return one._replace(error=error, **fields)
