"""Comparison of a load with the same load on a stub provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNKNOWN_TIMES = {"mock_received_ns": None, "mock_sent_ns": None}


def rows(folder: Any, took: float, *, upstream: float | None = None) -> list[Any]:
    """Return requests to a provider without times, or to the mock if `upstream` is given."""
    times = UNKNOWN_TIMES if upstream is None else {}
    return [
        folder.record(n, n * 1000.0, proxy=took - (upstream or 0.0), upstream=upstream or 0.0, **times)
        for n in range(100)
    ]


@pytest.fixture
def comparison(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    def states_of(took: float, with_stub: float, upstream: float | None = None, **plan: Any) -> Any:
        folder.load(rows(folder, took))
        stub = another("stub")
        stub.load(rows(stub, with_stub, upstream=upstream), **plan)
        assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return run, next(finding for finding in run["findings"] if finding["check"] == "stub")

    return states_of


def test_time_that_a_stub_saves_is_upstream_bound(comparison: Callable[..., Any]) -> None:
    run, result = comparison(1000.0, 60.0, upstream=50.0)
    assert run["bound"] == "upstream-bound"
    assert result["numbers"]["local_ms"] == pytest.approx(10.0)
    assert result["verdict"].startswith("99% of the time was the provider's")


def test_time_that_remains_with_a_stub_is_local_bound(comparison: Callable[..., Any]) -> None:
    run, result = comparison(1000.0, 850.0, upstream=50.0)
    assert run["bound"] == "local-bound"
    assert (result["sure"], result["numbers"]["share"]) == ("fair", pytest.approx(0.8))


def test_a_stub_without_times_lowers_the_confidence(comparison: Callable[..., Any]) -> None:
    _, result = comparison(1000.0, 800.0)
    assert (result["sure"], result["numbers"]["share"]) == ("low", pytest.approx(0.8))
    assert "does not tell" in result["why"]


def test_streaming_and_waiting_in_the_client_are_not_counted_for_the_proxy(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Both loads wait 400 ms in the client, and stream for a second."""

    def streams(into: Any, upstream: float, **fields: Any) -> list[Any]:
        rows_of_load = []
        for n in range(100):
            row = into.record(n, n * 3000.0 + 400.0, upstream=upstream, proxy=20.0)
            times = {"intended_ns": row.sent_ns - 400_000_000, "first_token_ns": row.end_ns}
            rows_of_load.append(row._replace(call="stream", end_ns=row.end_ns + 1_000_000_000, **times, **fields))
        return rows_of_load

    folder.load(streams(folder, 180.0, **UNKNOWN_TIMES))
    stub = another("stub")
    stub.load(streams(stub, 50.0))
    assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    result = next(finding for finding in run["findings"] if finding["check"] == "stub")
    assert result["numbers"] == {
        "share": pytest.approx(0.1),
        "local_ms": pytest.approx(20),
        "mean_ms": pytest.approx(200),
    }
    assert "until their first token" in result["why"]


def test_a_different_rate_lowers_the_confidence(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder.load(rows(folder, 1000.0), arrivals="poisson", span=99.0)
    stub = another("stub")
    stub.load(rows(stub, 60.0, upstream=50.0), arrivals="poisson", span=33.0)
    assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    result = next(finding for finding in run["findings"] if finding["check"] == "stub")
    assert (result["sure"], "rates differ: 1/s and 3/s" in result["why"]) == ("low", True)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"users": 7}, "users differ: 3 and 7"),
        ({"arrivals": "poisson", "span": 99.0}, "arrivals differ: closed and poisson"),
        ({"cpu": 0.99}, "limited by the rig: "),
    ],
)
def test_a_different_load_lowers_the_confidence(comparison: Callable[..., Any], plan: dict[str, Any], why: str) -> None:
    run, result = comparison(1000.0, 60.0, upstream=50.0, **plan)
    assert result["sure"] == "low"
    assert why in result["why"]
    assert ", probably" in run["headline"]


def test_a_missing_stub_folder_is_named_in_the_error(
    folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.load(rows(folder, 100.0))
    assert cli(["diagnose", str(folder.path), "--stub", str(tmp_path / "nothing")]) == WRONG_USE
    assert "nothing" in capsys.readouterr().err
