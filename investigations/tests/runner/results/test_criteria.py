"""Whether an arm keeps to what was asked of it: by all of an interval, never by a mean alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.criteria import Outcome, criteria, describe_bound


def investigation(**bounds: float) -> Investigation:
    return Investigation.model_validate(
        {
            "title": "t",
            "question": "q",
            "hypothesis": "h",
            "baseline": "off",
            "arms": {"off": {"about": "o"}, "on": {"about": "n"}},
            "figures": {"p50": {"margin": 0.05, "primary": True}},
            "criteria": {"on": bounds},
        }
    )


def runs(**figures: list[float]) -> dict[str, list[Run]]:
    count = len(next(iter(figures.values())))
    return {
        f"{number:03}+off+on": [
            Run("off", 0, 1.0, 10, {"p50": 1.0}),
            Run("on", 0, 1.0, 10, {name: values[number] for name, values in figures.items()}),
        ]
        for number in range(count)
    }


@pytest.mark.parametrize(("bound", "outcome"), [(13.0, Outcome.KEPT), (11.0, Outcome.OPEN), (9.0, Outcome.MISSED)])
def test_what_is_asked_is_compared_with_all_of_the_interval(bound: float, outcome: Outcome) -> None:
    (found,) = criteria(investigation(p50=bound), runs(p50=[10.0, 11.0, 12.1, 10.0, 11.0, 12.1]))
    assert found.outcome is outcome
    # The geometric mean.
    assert found.measured.mean == pytest.approx(11.0)
    assert found.measured.low < found.measured.mean < found.measured.high


@pytest.mark.parametrize(("bound", "outcome"), [(9.0, Outcome.KEPT), (13.0, Outcome.MISSED)])
def test_of_throughput_more_is_better(bound: float, outcome: Outcome) -> None:
    (found,) = criteria(investigation(throughput=bound), runs(throughput=[10.0, 11.0, 12.0, 10.0, 11.0, 12.0]))
    assert found.outcome is outcome
    assert describe_bound(found) == f"at least {bound:g} /s"


def test_runs_that_are_all_the_same_have_no_spread() -> None:
    (found,) = criteria(investigation(error_rate=0.0), runs(error_rate=[0.0] * 6))
    assert (found.outcome, found.measured.low, found.measured.high) == (Outcome.KEPT, 0.0, 0.0)
    assert (describe_bound(found), str(found.measured)) == ("at most 0.00 %", "0.00 % (in each of 6 pairs)")


def test_a_metric_of_too_few_runs_is_unknown() -> None:
    (found,) = criteria(investigation(p99=10.0), runs(p50=[1.0] * 6))
    assert (found.outcome, str(found.measured)) == (Outcome.UNKNOWN, "")


def test_a_metric_without_a_value_in_some_runs_is_unknown() -> None:
    """Of quantiles those runs tell that were fast enough."""
    done = runs(p99=[10.0] * 6)
    told = done["003+off+on"]
    done["003+off+on"] = [told[0], replace(told[1], figures={})]
    (found,) = criteria(investigation(p99=20.0), done)
    assert found.outcome is Outcome.UNKNOWN


def test_a_pair_that_does_not_count_does_not_count_here() -> None:
    done = runs(p50=[10.0, 10.0, 10.0, 10.0])
    spoilt = runs(p50=[1000.0])["000+off+on"]
    done["009+off+on"] = [replace(spoilt[0], limited=("why",)), spoilt[1]]
    (found,) = criteria(investigation(p50=11.0), done)
    assert (found.outcome, found.measured.pairs) == (Outcome.KEPT, 4)


def test_an_arm_that_meets_several_others_in_a_pair_counts_once_in_it() -> None:
    done = runs(p50=[10.0, 20.0, 40.0])
    done |= {name.replace("off", "other"): other for name, other in runs(p50=[40.0, 80.0, 160.0]).items()}
    (found,) = criteria(investigation(p50=13.0), done)
    assert found.measured.pairs == 3
    assert found.measured.mean == pytest.approx(40.0)


@given(st.lists(st.floats(0.1, 1e4), min_size=3, max_size=20), st.floats(0.0, 1e5))
def test_a_wider_bound_is_never_missed_where_a_narrower_one_is_kept(values: list[float], bound: float) -> None:
    (narrow,), (wide,) = (criteria(investigation(p50=one), runs(p50=values)) for one in (bound, bound * 2))
    order = [Outcome.MISSED, Outcome.OPEN, Outcome.KEPT]
    assert order.index(narrow.outcome) <= order.index(wide.outcome)


def test_no_share_is_beyond_its_bounds() -> None:
    (found,) = criteria(investigation(error_rate=0.5), runs(error_rate=[0.0, 0.0, 0.0, 0.0, 0.0, 0.01]))
    assert found.measured.low == 0.0
    (found,) = criteria(investigation(error_rate=0.5), runs(error_rate=[1.0, 1.0, 1.0, 1.0, 1.0, 0.99]))
    assert found.measured.high == 1.0
