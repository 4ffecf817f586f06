from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.schedule import arms_of, pair_number, schedule, whole_boots

PROXY = {"about": "a proxy"}


def investigation(arms: int = 3, **session: Any) -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "a0",
            "arms": {f"a{number}": PROXY for number in range(arms)},
            "figures": {"p50": {"margin": 0.05, "primary": True}},
            "session": session,
        }
    )


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**31))
def test_every_comparison_meets_once_in_every_pair(arms: int, pairs: int, seed: int) -> None:
    wanted = investigation(arms, seed=seed)
    found = list(schedule(wanted, pairs))
    times = Counter((one.pair, frozenset(one.arms)) for one in found if len(one.arms) == 2)
    assert set(times.values()) == {1}
    assert len(times) == pairs * len(wanted.comparisons)
    assert len({one.name for one in found}) == len(found)
    # No proxy meets the same users twice.
    assert len({one.seed for one in found}) == len(found)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 2**31))
def test_a_block_has_every_arm_once(arms: int, pairs: int, seed: int) -> None:
    wanted = investigation(arms, seed=seed, design="blocks")
    blocks = [one for one in schedule(wanted, pairs) if one.arms != ("direct",)]
    assert [one.pair for one in blocks] == list(range(1, pairs + 1))
    assert all(sorted(one.arms) == sorted([*wanted.arms, "again"]) for one in blocks)


def test_every_arm_of_a_block_comes_first_as_often() -> None:
    firsts = Counter(one.arms[0] for one in schedule(investigation(3, noise=False, design="blocks"), 600))
    assert all(firsts[arm] == pytest.approx(200, abs=50) for arm in ("a0", "a1", "a2"))


@given(st.integers(0, 36))
def test_a_boot_of_which_some_pairs_are_missing_is_measured_again(stopped_after: int) -> None:
    wanted = investigation(2, looks=[12], pairs_per_boot=3)
    names = [scheduled.name for scheduled in schedule(wanted, 12)]
    done = dict.fromkeys(names[:stopped_after])
    kept = {pair_number(name) for name in whole_boots(wanted, done, 12)}
    whole = [boot for boot in range(4) if all(name in done for name in names if (pair_number(name) - 1) // 3 == boot)]
    assert kept == {pair for boot in whole for pair in range(3 * boot + 1, 3 * boot + 4)}
    without_reboots = investigation(2, looks=[12])
    assert whole_boots(without_reboots, done, 12) == done


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 20))
def test_a_longer_session_begins_as_a_shorter_one(first: int, second: int) -> None:
    wanted = investigation()
    shorter, longer = sorted((first, second))
    found = list(schedule(wanted, shorter))
    assert list(schedule(wanted, longer))[: len(found)] == found


def test_no_two_scheduled_pairs_have_one_name() -> None:
    told = investigation(1).model_dump() | {
        "arms": dict.fromkeys(("a", "b-c", "a-b", "c"), PROXY),
        "baseline": "a",
        "ablation": {"full": "a-b", "switches": {"s": {"about": "x", "arm": "c"}}},
    }
    found = list(schedule(Investigation.model_validate(told), 6))
    assert len({one.name for one in found}) == len(found)
    assert all(arms_of(one.name) == sorted(one.arms) for one in found)


def test_either_arm_comes_first_as_often() -> None:
    firsts = Counter(one.arms[0] for one in schedule(investigation(2, noise=False), 400))
    assert firsts["a0"] == pytest.approx(200, abs=40)


def test_the_noise_is_measured_unless_it_is_not_wanted() -> None:
    assert investigation(2).comparisons == [("a0", "a1"), ("a0", "again")]
    assert investigation(2, noise=False).comparisons == [("a0", "a1")]
    alone = [one for one in schedule(investigation(2), 12) if one.arms == ("direct",)]
    assert [one.pair for one in alone] == [1, 7]
