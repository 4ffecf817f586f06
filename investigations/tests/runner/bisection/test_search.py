"""Binary search with comparisons that are made up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.runner.bisection.search import Outcome, Result, comparisons_left, search
from evenkeel_lab.stats.compare import compare
from evenkeel_lab.stats.equivalence_margin import Margin, Scale
from evenkeel_lab.stats.run_set import Runs

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkeel_lab.stats.compare import Compared

MARGIN, PAIRS = 0.03, 8


def compared(factor: float, margin: float, spread: float = 0.005) -> Compared:
    noise = np.random.default_rng(1).normal(0, spread, PAIRS)
    runs = [
        Runs(name, {"p50": list(values)})
        for name, values in (("a", np.full(PAIRS, 100.0)), ("b", 100 * factor * np.exp(noise - noise.mean())))
    ]
    (figure,) = compare(*runs, margins={"p50": Margin(Scale.FACTOR, margin)}).figures
    return figure


def found(
    releases: int, planted: int, factor: float, broken: Collection[int] = (), spread: float = 0.005, odd: float = 1.0
) -> tuple[Result, list[str]]:
    """Search among releases of which those from `planted` on differ by `factor`, and the first boot by `odd` too."""
    names, measured = [f"r{number}" for number in range(releases)], []

    async def measure(release: str, margin: float, left: int) -> Compared | None:
        measured.append(release)
        assert left >= 1
        number = names.index(release)
        boot = odd if len(measured) == 1 else 1.0
        return None if number in broken else compared(boot * (factor if number >= planted else 1.0), margin, spread)

    return asyncio.run(search(names, measure, MARGIN)), measured


@given(st.integers(2, 200), st.data(), st.sampled_from([0.8, 0.95, 1.06, 2.0]))
def test_it_finds_the_first_release_with_the_change(releases: int, data: st.DataObject, factor: float) -> None:
    planted = data.draw(st.integers(1, releases - 1))
    result, measured = found(releases, planted, factor)
    assert (result.last_good, result.first_bad) == (f"r{planted - 1}", f"r{planted}")
    assert result.is_certain
    assert len(measured) <= 2 + comparisons_left(releases - 2)


def test_without_a_change_it_compares_the_ends_only() -> None:
    result, measured = found(50, 50, 1.0)
    assert result.first_bad == ""
    assert measured == ["r49"]


def test_a_release_that_cannot_be_measured_is_left_out() -> None:
    result, _ = found(6, 3, 1.1, broken={3})
    assert (result.last_good, result.first_bad, result.skipped) == ("r2", "r4", ["r3"])


def test_a_release_that_was_left_out_is_named_only_if_it_may_have_the_change() -> None:
    result, _ = found(10, 8, 1.1, broken={5})
    assert (result.first_bad, result.skipped) == ("r8", [])


def test_a_change_that_only_one_boot_shows_is_none() -> None:
    result, measured = found(8, 8, 1.0, odd=1.08)
    assert result.first_bad == ""
    assert (measured[0], measured[-1]) == ("r7", "r7")
    assert result.steps[-1].outcome is Outcome.GOOD


@pytest.mark.parametrize("planted", [3, 7])
def test_the_first_bad_release_is_compared_twice(planted: int) -> None:
    result, measured = found(8, planted, 1.08)
    assert (result.first_bad, result.is_certain) == (f"r{planted}", True)
    assert measured.count(f"r{planted}") == 2


def test_an_uncertain_repetition_hides_no_change() -> None:
    names, measured = ["good", "bad"], []

    async def measure(release: str, margin: float, _: int) -> Compared:
        measured.append(release)
        return compared(1.08 if len(measured) == 1 else 1.038, margin, spread=0.02)

    result = asyncio.run(search(names, measure, MARGIN))
    assert (result.first_bad, result.is_certain) == ("bad", False)


def test_a_change_smaller_than_the_margin_is_none() -> None:
    result, measured = found(8, 4, 1.02)
    assert result.first_bad == ""
    assert len(measured) == 1


def test_if_the_bad_release_cannot_be_measured_there_is_no_result() -> None:
    result, measured = found(6, 3, 1.1, broken={5})
    assert (result.whole, result.first_bad, measured) == (None, "", ["r5"])


def test_a_release_near_half_of_the_change_is_uncertain() -> None:
    names = ["good", "middle", "bad"]

    async def measure(release: str, margin: float, _: int) -> Compared:
        return compared({"middle": 1.06, "bad": 1.1}[release], margin, spread=0.03)

    result = asyncio.run(search(names, measure, MARGIN))
    assert [step.outcome for step in result.steps] == [Outcome.BAD, Outcome.BAD]
    assert not result.is_certain
