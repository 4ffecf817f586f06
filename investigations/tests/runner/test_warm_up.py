"""When a subject is warm."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec import Investigation, read, template
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.targets import Target
from evenkeel_lab.runner.warm_up import WarmUp, is_steady

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("costs", "steady"),
    [
        ([], False),
        ([40, 40], False),
        ([40, 40, 40], True),
        ([90, 40, 41, 40], True),
        ([40, 44, 48], False),
        # Each by itself differs by chance; two at a time do not.
        ([36, 44, 44, 36, 36, 44], True),
        # It becomes cheaper all the time.
        ([90, 80, 70, 60, 50, 40], False),
        ([0, 0, 0], False),
        ([40, 40, 0], False),
    ],
)
def test_a_subject_is_steady_when_its_last_windows_cost_the_same(costs: list[float], steady: bool) -> None:  # noqa: FBT001
    assert is_steady(costs, 0.05) == steady


def test_one_window_is_enough_where_windows_may_vary_by_anything() -> None:
    assert is_steady([90], 1.0)
    assert not is_steady([], 1.0)


@given(st.lists(st.floats(1, 100), max_size=12), st.floats(0.01, 0.5), st.floats(0.01, 100))
def test_the_unit_does_not_matter_and_a_looser_gate_lets_more_through(
    costs: list[float], within: float, factor: float
) -> None:
    if is_steady(costs, within):
        assert is_steady(costs, 2 * within)
        assert is_steady([cost * factor for cost in costs], within * (1 + 1e-9))


def test_an_arm_that_is_met_cold_is_not_loaded_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    async def measured(target: Target, *_: object) -> Run:
        loaded.append(target.name)
        return Run(target.name, 0, 1.0, 10, {"cpu_ms": 40.0})

    monkeypatch.setattr("evenkeel_lab.runner.warm_up.measure", measured)
    folder = tmp_path / "x"
    folder.mkdir()
    text = template("x").replace("[arms.on]", '[arms.cold]\nabout = "x"\nwarm_up = 0.0\n[arms.on]')
    (folder / "investigation.toml").write_text(text)
    warm_up = WarmUp(read(folder), Store(tmp_path), Event())
    asyncio.run(warm_up.until_steady([[Target(name, name, "", "", "") for name in ("off", "cold")]]))
    assert loaded == ["off", "off", "off"]
    assert warm_up.is_warm("cold")


def test_a_subject_that_answers_nothing_ends_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def measured(target: Target, *_: object) -> Run:
        return Run(target.name, 0, 1.0, 10, {"cpu_ms": 40.0, "error_rate": 1.0})

    monkeypatch.setattr("evenkeel_lab.runner.warm_up.measure", measured)
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "investigation.toml").write_text(template("x"))
    warm_up = WarmUp(read(folder), Store(tmp_path), Event())
    with pytest.raises(RigFailure, match="All 10 requests of the warm-up of off failed"):
        asyncio.run(warm_up.until_steady([[Target("off", "off", "", "", "")]]))


def test_runs_warm_up_what_the_windows_have_not(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "investigation.toml").write_text(template("x"))
    wanted: Investigation = read(folder)
    warm_up = WarmUp(wanted, Store(tmp_path), Event(), {"off": [90.0, 60.0, 50.0]})
    assert not warm_up.is_warm("off")
    assert warm_up.is_warm("direct")  # it has no CPU time
    for cost in (41.0, 40.0):
        warm_up.note([("off", Run("off", 0, 1.0, 10, {"cpu_ms": cost}))])
        assert not warm_up.is_warm("off")
    warm_up.note([("off", Run("off", 0, 1.0, 10, {"cpu_ms": 40.5}))])
    assert warm_up.is_warm("off")
    # What is warm stays so, whatever the machine does.
    warm_up.note([("off", Run("off", 0, 1.0, 10, {"cpu_ms": 400.0}))])
    assert warm_up.document() == {"off": {"costs": [90.0, 60.0, 50.0, 41.0, 40.0, 40.5], "steady": True}}
