"""Investigations that are changed on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.investigation_spec.overrides import least_seconds, quickly, with_pairs, with_versions


def investigation(duration: float = 60.0, arms: int = 2, **fields: Any) -> Investigation:
    defaults: dict[str, Any] = {
        "title": "Which?",
        "question": "Which?",
        "hypothesis": "None.",
        "baseline": "arm-0",
        "arms": {f"arm-{number}": {"about": "a proxy"} for number in range(arms)},
        "load": {"scenario": "chat", "users": 20, "duration": duration},
        "figures": {"throughput": {"margin": 0.05, "primary": True}},
    }
    return Investigation.model_validate(defaults | fields)


@pytest.mark.parametrize(("duration", "quick"), [(60.0, 10.0), (30.0, 5.0), (12.0, 4.0), (3.0, 3.0)])
def test_a_quick_run_has_a_sixth_of_its_time_but_not_less_than_any_needs(duration: float, quick: float) -> None:
    assert quickly(investigation(duration)).load.duration == quick
    assert quickly(investigation(duration), seconds=60.0).load.duration == quick


def test_a_quick_run_that_requests_end_has_ten_of_each_user() -> None:
    wanted = investigation(load={"scenario": "chat", "users": 3, "requests": 600})
    assert quickly(wanted).load.requests == 30
    assert quickly(wanted).load.duration is None


def test_each_arm_is_quick_in_its_own_load() -> None:
    arms = {"arm-0": {"about": "x"}, "slow": {"about": "x", "load": {"duration": 120.0}, "warm_up": 30.0}}
    quick = quickly(Investigation.model_validate(investigation().model_dump() | {"arms": arms, "baseline": "arm-0"}))
    assert quick.load_of("slow").duration == 20.0
    assert quick.warm_up_of("slow") == 2.0


def test_a_study_shares_its_time_by_what_a_verdict_takes() -> None:
    assert least_seconds(investigation(arms=3)) == pytest.approx(2 * least_seconds(investigation(arms=2)))
    assert least_seconds(investigation(30.0)) < least_seconds(investigation(60.0))


def test_what_boots_anew_for_each_pair_needs_time_for_it() -> None:
    assert least_seconds(investigation(session={"subjects": "fresh"})) > 2 * least_seconds(investigation())


def test_a_single_arm_is_still_compared_with_itself() -> None:
    assert quickly(investigation(arms=1), seconds=60.0).comparisons == [("arm-0", "again")]
    assert ("arm-0", "again") not in quickly(investigation(arms=2), seconds=60.0).comparisons


def test_what_a_load_says_in_other_words_is_quick_too() -> None:
    arms = {"arm-0": {"about": "x"}, "slow": {"about": "x", "load": {"duration": "120"}}}
    wanted = Investigation.model_validate(investigation().model_dump() | {"arms": arms})
    assert quickly(wanted).load_of("slow").duration == 20.0


def test_each_proxy_is_measured_with_each_version() -> None:
    arms = {"arm-0": {"about": "a proxy"}, "mock": {"about": "the mock itself", "subject": "mock"}}
    wanted = Investigation.model_validate(investigation().model_dump() | {"arms": arms})
    versions = with_versions(wanted, ["1.106.2", "1.108.7"])
    assert {name: arm.litellm for name, arm in versions.arms.items()} == {
        "arm-0": "1.106.2",
        "arm-0-1-108-7": "1.108.7",
        "mock": "",
    }
    assert with_versions(wanted, []) == wanted


def test_no_proxy_is_measured_with_a_compromised_release() -> None:
    with pytest.raises(WrongUse, match="compromised"):
        with_versions(investigation(), ["1.82.7"])


@pytest.mark.parametrize(("pairs", "looks"), [(6, [6]), (12, [6, 12]), (48, [12, 24, 48])])
def test_pairs_are_the_last_look_after_at_most_two_earlier_ones(pairs: int, looks: list[int]) -> None:
    assert with_pairs(investigation(), pairs).session.looks == looks
