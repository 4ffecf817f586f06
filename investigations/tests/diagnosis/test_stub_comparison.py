"""A load beside the same one with a stub for its provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNTOLD = {"mock_received_ns": None, "mock_sent_ns": None}


def rows(folder: Any, took: float, *, upstream: float | None = None) -> list[Any]:
    """Of a provider that says nothing of itself, or of the mock."""
    told = UNTOLD if upstream is None else {}
    return [
        folder.record(n, n * 1000.0, proxy=took - (upstream or 0.0), upstream=upstream or 0.0, **told)
        for n in range(100)
    ]


@pytest.fixture
def beside(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    def asked(took: float, with_stub: float, upstream: float | None = None, **plan: Any) -> Any:
        folder.load(rows(folder, took))
        stub = another("stub")
        stub.load(rows(stub, with_stub, upstream=upstream), **plan)
        assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return run, next(one for one in run["findings"] if one["check"] == "stub")

    return asked


def test_what_is_gone_with_a_stub_was_the_providers(beside: Callable[..., Any]) -> None:
    run, found = beside(1000.0, 60.0, upstream=50.0)
    assert run["bound"] == "upstream-bound"
    assert found["numbers"]["local_ms"] == pytest.approx(10.0)
    assert found["verdict"].startswith("99% of the time was the provider's")


def test_what_is_left_with_a_stub_is_the_proxys(beside: Callable[..., Any]) -> None:
    run, found = beside(1000.0, 850.0, upstream=50.0)
    assert run["bound"] == "local-bound"
    assert (found["sure"], found["numbers"]["share"]) == ("fair", pytest.approx(0.8))


def test_of_a_stub_that_does_not_tell_its_time_nothing_is_sure(beside: Callable[..., Any]) -> None:
    _, found = beside(1000.0, 800.0)
    assert (found["sure"], found["numbers"]["share"]) == ("low", pytest.approx(0.8))
    assert "does not tell" in found["why"]


def test_the_pace_of_a_stub_and_the_wait_for_a_connection_are_not_the_proxys(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """With either, 400 ms waiting to be sent, and a stream of a second."""

    def streams(into: Any, upstream: float, **fields: Any) -> list[Any]:
        told = []
        for n in range(100):
            one = into.record(n, n * 3000.0 + 400.0, upstream=upstream, proxy=20.0)
            times = {"intended_ns": one.sent_ns - 400_000_000, "first_token_ns": one.end_ns}
            told.append(one._replace(call="stream", end_ns=one.end_ns + 1_000_000_000, **times, **fields))
        return told

    folder.load(streams(folder, 180.0, **UNTOLD))
    stub = another("stub")
    stub.load(streams(stub, 50.0))
    assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    found = next(one for one in run["findings"] if one["check"] == "stub")
    assert found["numbers"] == {
        "share": pytest.approx(0.1),
        "local_ms": pytest.approx(20),
        "mean_ms": pytest.approx(200),
    }
    assert "until their first token" in found["why"]


def test_another_rate_is_told_as_such(
    folder: Any, another: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder.load(rows(folder, 1000.0), arrivals="poisson", span=99.0)
    stub = another("stub")
    stub.load(rows(stub, 60.0, upstream=50.0), arrivals="poisson", span=33.0)
    assert cli(["diagnose", str(folder.path), "--stub", str(stub.path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    found = next(one for one in run["findings"] if one["check"] == "stub")
    assert (found["sure"], "rates differ: 1/s and 3/s" in found["why"]) == ("low", True)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"users": 7}, "users differ: 3 and 7"),
        ({"arrivals": "poisson", "span": 99.0}, "arrivals differ: closed and poisson"),
        ({"cpu": 0.99}, "limited by the rig: "),
    ],
)
def test_another_load_is_told_as_such(beside: Callable[..., Any], plan: dict[str, Any], why: str) -> None:
    run, found = beside(1000.0, 60.0, upstream=50.0, **plan)
    assert found["sure"] == "low"
    assert why in found["why"]
    assert ", probably" in run["headline"]


def test_a_folder_of_several_runs_is_no_stub(folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.load(rows(folder, 100.0))
    assert cli(["diagnose", str(folder.path), "--stub", str(tmp_path / "nothing")]) == WRONG_USE
    assert "nothing" in capsys.readouterr().err
