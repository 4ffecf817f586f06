"""Results of the matrix of faults: which promises a cell keeps, and what is kept between runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.runner.results.chaos_results import (
    Cell,
    Matrix,
    ProxyResult,
    Sweep,
    pick_p99,
    read_matrix,
    read_result,
    result_path,
    write_matrix,
    write_result,
)

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = ProxyResult(requests=100, served=100, recovered_after=0.0, calm_latencies=[0.1234567])
STOCK = PLUGIN.model_copy(update={"served": 90})
CELL = Cell(
    fault="redis_killed",
    about="Redis is killed",
    plugin=PLUGIN,
    stock=STOCK,
    metric="evenkeel_rotation_shared_connected",
    log="unavailable",
    first_failure_after=0.0,
    metric_after=0.4,
    log_after=0.2,
    log_lines=1,
    plugin_lines=3,
    crashes=[],
    longest_cooldown=None,
    picks={"0.001": 100, "+Inf": 100},
    may_lose_records=False,
    lost_records=0,
)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, []),
        ({"plugin": STOCK, "stock": PLUGIN}, ["served"]),
        ({"plugin": PLUGIN.model_copy(update={"served": 99}), "stock": PLUGIN}, []),
        ({"lost_records": 1}, ["records"]),
        ({"lost_records": 1, "may_lose_records": True}, []),
        ({"crashes": ["Fatal Python error: Segmentation fault"]}, ["crash"]),
        ({"metric_after": None}, ["visible"]),
        ({"metric": "", "metric_after": None}, []),
        ({"log_lines": 1000}, ["log"]),
        ({"plugin_lines": 1000}, ["log"]),
        ({"longest_cooldown": 1e12}, ["cooldown"]),
    ],
)
def test_a_cell_names_the_promises_that_it_does_not_keep(change: dict[str, Any], broken: list[str]) -> None:
    assert CELL.model_copy(update=change).broken_promises == broken


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"plugin": PLUGIN.model_copy(update={"recovered_after": 5.1})}, ["recovery time"]),
        ({"log_after": 3.0}, ["time until visible"]),
        ({"log_after": 3.0, "first_failure_after": 2.5}, []),
        ({"metric_after": None}, []),
        ({"metric": "", "metric_after": 3.0}, []),
    ],
)
def test_a_cell_names_the_times_that_it_misses(change: dict[str, Any], missed: list[str]) -> None:
    cell = CELL.model_copy(update=change)
    assert cell.missed_times == missed


@given(requests=st.integers(1, 500), lost=st.integers(0, 500))
def test_two_proxies_that_lose_as_much_are_equally_good(requests: int, lost: int) -> None:
    same = PLUGIN.model_copy(update={"requests": requests, "served": max(requests - lost, 0)})
    assert not CELL.model_copy(update={"plugin": same, "stock": same}).serves_less


def test_a_repetition_adds_requests_and_keeps_the_worse_of_all_else() -> None:
    other = CELL.model_copy(
        update={"metric_after": 1.5, "log": "", "log_after": None, "log_lines": 0, "plugin_lines": 9, "lost_records": 2}
    )
    merged = CELL.merged_with(other)
    assert (merged.plugin.requests, merged.stock.served) == (200, 180)
    assert (merged.metric_after, merged.log_after, merged.plugin_lines, merged.lost_records) == (1.5, 0.2, 9, 2)
    assert merged.picks == {"0.001": 200, "+Inf": 200}
    assert CELL.merged_with(CELL.model_copy(update={"metric_after": None})).metric_after is None


def test_cells_that_are_done_are_kept(tmp_path: Path) -> None:
    path = result_path(tmp_path, "1.2.3", "redis_killed")
    assert read_result(path, Cell) is None
    write_result(path, CELL)
    assert read_result(path, Cell) == CELL
    path.write_text("{}")
    assert read_result(path, Cell) is None


def test_the_committed_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_matrix(tmp_path) is None
    matrix = Matrix(
        measured="2026-11-30",
        commit="abc",
        litellm="1.2.3",
        machine="x86_64, 2 cores",
        rate=6,
        before_seconds=4,
        during_seconds=8,
        cells=[CELL],
        sweep=Sweep(secrets=50, kinds=6, outputs=["log"], leaks=[]),
    )
    path = write_matrix(tmp_path, matrix)
    found = read_matrix(tmp_path)
    assert found is not None
    assert found.cells[0].plugin.calm_latencies == [0.1235]
    assert found.cells[0].broken_promises == []
    path.write_text("{")
    with pytest.raises(WrongUse):
        read_matrix(tmp_path)


@pytest.mark.parametrize(
    ("counts", "p99"),
    [
        ({"0.001": 1000, "0.0025": 1000, "+Inf": 1000}, 0.001),
        ({"0.001": 980, "0.0025": 999, "+Inf": 1000}, 0.0025),
        ({"0.001": 500, "0.0025": 500, "+Inf": 1000}, float("inf")),
        ({"0.001": 999, "+Inf": 999}, None),
        ({}, None),
    ],
)
def test_the_p99_of_picks_is_the_bound_of_its_bucket(counts: dict[str, float], p99: float | None) -> None:
    halves = [{bound: count / 2 for bound, count in counts.items()}] * 2
    assert pick_p99([CELL.model_copy(update={"picks": picks}) for picks in halves]) == p99
