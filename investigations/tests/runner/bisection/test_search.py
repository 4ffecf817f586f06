"""Binary search with comparisons that are made up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.search import Outcome, Result, search
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Collection

MARGIN = 0.03


def found(releases: int, planted: int, change: float, broken: Collection[int] = ()) -> tuple[Result, list[str]]:
    """Search among releases of which those from `planted` on have a change."""
    names, measured = [f"r{number}" for number in range(releases)], []

    async def measure(release: str, threshold: float) -> BootEffects | None:
        measured.append(release)
        assert threshold > 0
        number = names.index(release)
        effect = change if number >= planted else 0.0
        return None if number in broken else BootEffects([effect, effect + 0.001], Scale.FACTOR)

    return asyncio.run(search(names, measure, MARGIN)), measured


@given(st.integers(2, 200), st.data(), st.sampled_from([-0.2, -0.05, 0.06, 1.0]))
def test_it_finds_the_first_release_with_the_change(releases: int, data: st.DataObject, change: float) -> None:
    planted = data.draw(st.integers(1, releases - 1))
    result, measured = found(releases, planted, change)
    assert (result.last_good, result.first_bad) == (f"r{planted - 1}", f"r{planted}")
    assert result.is_certain
    assert len(measured) <= 1 + (releases - 2).bit_length()


def test_without_a_change_it_compares_the_ends_only() -> None:
    result, measured = found(50, 50, 1.0)
    assert result.first_bad == ""
    assert measured == ["r49"]


def test_a_release_that_cannot_be_measured_is_left_out() -> None:
    result, _ = found(6, 3, 0.1, broken={3})
    assert (result.last_good, result.first_bad, result.skipped) == ("r2", "r4", ["r3"])


def test_a_release_that_was_left_out_is_named_only_if_it_may_have_the_change() -> None:
    result, _ = found(10, 8, 0.1, broken={5})
    assert (result.first_bad, result.skipped) == ("r8", [])


def test_a_change_smaller_than_the_margin_is_none() -> None:
    result, measured = found(8, 4, 0.02)
    assert result.first_bad == ""
    assert len(measured) == 1


def test_if_the_bad_release_cannot_be_measured_there_is_no_result() -> None:
    result, measured = found(6, 3, 0.1, broken={5})
    assert (result.whole, result.first_bad, measured) == (None, "", ["r5"])


def test_most_boots_decide_and_a_release_whose_boots_differ_is_uncertain() -> None:
    async def measure(release: str, _: float) -> BootEffects:
        effects = {"middle": [0.0, 0.11, 0.001], "bad": [0.1, 0.0, 0.102]}[release]
        return BootEffects(effects, Scale.FACTOR)

    result = asyncio.run(search(["good", "middle", "bad"], measure, MARGIN))
    assert [step.outcome for step in result.steps] == [Outcome.GOOD]
    assert (result.first_bad, result.is_certain) == ("bad", False)
