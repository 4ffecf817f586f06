"""Comparisons within a time, and in spite of failures."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.errors import DiskFull, ProcessFailed, RigFailure, UnknownVersion
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.bisection import comparer as module
from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.comparer import Comparer
from evenkeel_lab.runner.bisection.comparison import Plan, random_arrivals
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EFFECTS = BootEffects([0.05, 0.06], Scale.FACTOR)


class Comparing:
    """A comparer whose comparisons fail or succeed as `outcomes` say."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *outcomes: Exception | BootEffects) -> None:
        self.lines: list[str] = []
        self.left = list(outcomes)
        plan = Plan("1.106.2", "cpu_ms", random_arrivals(), folder, lambda release: {"litellm": release})
        self.comparer = Comparer(plan, Silent(), time.monotonic() + 3600, self.lines.append)
        monkeypatch.setattr(module, "compare_releases", self.compare)

    async def compare(self, _: Plan, __: str, is_enough: Callable[[BootEffects], bool], **___: Any) -> BootEffects:
        outcome = self.left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        is_enough(outcome)
        return outcome

    def measure(self) -> BootEffects | None:
        return asyncio.run(self.comparer.measure("1.108.7", lambda _: True))


def test_each_boot_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparing = Comparing(tmp_path, monkeypatch, BootEffects([0.05, 0.06], Scale.FACTOR, ["it was late"]))
    comparing.measure()
    assert comparing.lines == ["1.108.7: cpu_ms +5.5 % (boots: +5.0, +6.0); the last one does not count: it was late"]


def test_a_failure_that_does_not_come_again_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparing = Comparing(tmp_path, monkeypatch, ProcessFailed("It ended.", hint="See its log."), EFFECTS)
    assert comparing.measure() == EFFECTS
    assert comparing.lines[0] == "1.108.7 could not be compared, and is tried again: It ended. See its log."


@pytest.mark.parametrize(
    "failures",
    [
        [RigFailure("Nothing was answered.", hint="")] * 2,
        [UnknownVersion("There is no such release.", hint="")],
    ],
)
def test_a_release_that_cannot_be_measured_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: list[Exception]
) -> None:
    comparing = Comparing(tmp_path, monkeypatch, *failures)
    assert comparing.measure() is None
    assert comparing.left == []
    assert comparing.lines[-1].startswith("1.108.7 could not be compared: ")


def test_what_concerns_all_releases_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiskFull):
        Comparing(tmp_path, monkeypatch, DiskFull("The disk is full.", hint="")).measure()


def test_without_time_nothing_is_booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparing = Comparing(tmp_path, monkeypatch)
    comparing.comparer.until = time.monotonic() + 60
    assert comparing.measure() == BootEffects([], Scale.FACTOR)
