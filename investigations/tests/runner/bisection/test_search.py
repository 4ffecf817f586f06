"""Searches with boots that are made up."""

from __future__ import annotations

import asyncio
import random
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st

from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.search import Result, search
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

MARGIN, CERTAINTY = 0.03, 0.97
MOST_BOOTS = 60


def found(
    releases: int, planted: int, change: float, broken: Collection[int] = (), *, boots: int = MOST_BOOTS
) -> tuple[Result, list[str]]:
    """Search among releases of which those from `planted` on have a change. Return the result, and all boots."""
    names, booted = [f"r{number}" for number in range(releases)], []
    errors = _errors()
    effects: dict[str, list[float]] = {}

    async def measure(release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects | None:
        number, known = names.index(release), effects.setdefault(release, [])
        if number in broken:
            return None
        while len(booted) < boots and not is_enough(BootEffects(known, Scale.FACTOR)):
            booted.append(release)
            known.append((change if number >= planted else 0.0) + next(errors))
        return BootEffects(list(known), Scale.FACTOR)

    return asyncio.run(search(names, measure, MARGIN, CERTAINTY)), booted


def _errors() -> Iterator[float]:
    """Yield errors of two per cent, and now and then of ten."""
    source = random.Random(1)
    for number in count(1):
        yield source.gauss(0, 0.02) + (0.1 if number % 7 == 0 else 0.0)


@settings(max_examples=20)
@given(st.integers(2, 40), st.data(), st.sampled_from([-0.2, 0.1, 1.0]))
def test_it_finds_the_first_release_with_the_change(releases: int, data: st.DataObject, change: float) -> None:
    planted = data.draw(st.integers(1, releases - 1))
    result, booted = found(releases, planted, change)
    assert (result.last_good, result.first_bad, result.is_certain) == (f"r{planted - 1}", f"r{planted}", True)
    assert booted[0] == f"r{releases - 1}"


def test_without_a_change_it_boots_the_bad_release_most_often() -> None:
    result, booted = found(5, 5, 0.0)
    assert (result.first_bad, result.is_certain) == ("", True)
    assert booted.count("r4") > len(booted) / 2


def test_each_release_beside_the_change_is_booted_three_times() -> None:
    result, booted = found(8, 4, 3.0)
    assert (result.last_good, result.first_bad) == ("r3", "r4")
    assert booted.count("r3") >= 3
    assert booted.count("r4") >= 3


def test_a_release_that_cannot_be_measured_is_left_out() -> None:
    result, _ = found(6, 3, 0.2, broken={3})
    assert (result.last_good, result.first_bad, result.skipped) == ("r2", "r4", ["r3"])


def test_a_release_that_was_left_out_is_named_only_if_it_may_have_the_change() -> None:
    result, _ = found(10, 8, 0.2, broken={5})
    assert (result.first_bad, result.skipped) == ("r8", [])


def test_a_change_far_below_the_margin_is_none() -> None:
    assert found(8, 4, 0.005)[0].first_bad == ""


def test_if_the_bad_release_cannot_be_measured_there_is_no_result() -> None:
    result, booted = found(4, 2, 0.1, broken={3})
    assert (result.belief, result.is_certain, booted) == (None, False, [])


def test_a_release_without_further_boots_counts_with_those_that_it_has() -> None:
    boots: dict[str, list[float]] = {"r1": [0.1], "r2": []}

    async def measure(release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects | None:
        if release == "r2":
            while len(boots["r2"]) < 40 and not is_enough(BootEffects(boots["r2"], Scale.FACTOR)):
                boots["r2"].append(0.1)
        return BootEffects(list(boots[release]), Scale.FACTOR)

    result = asyncio.run(search(["r0", "r1", "r2"], measure, MARGIN, 0.9999))
    assert {release: len(each.effects) for release, each in result.effects.items()} == {"r1": 1, "r2": 40}
    assert (result.first_bad, result.is_certain) == ("r1", False)


def test_boots_of_an_earlier_search_count() -> None:
    known = {release: BootEffects([effect] * 6, Scale.FACTOR) for release, effect in (("r1", 0.0), ("r2", 0.2))}

    async def measure(release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects | None:
        raise AssertionError(release)

    result = asyncio.run(search(["r0", "r1", "r2"], measure, MARGIN, CERTAINTY, known))
    assert (result.first_bad, result.is_certain) == ("r2", True)


def test_without_time_the_most_probable_answer_is_uncertain() -> None:
    result, booted = found(30, 12, 0.06, boots=3)
    assert len(booted) == 3
    assert not result.is_certain
    assert result.belief is not None
    assert result.belief.probability < CERTAINTY
