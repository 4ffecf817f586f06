from __future__ import annotations

import math
import re
from pathlib import Path

from evenkeel_lab.bench.prometheus_callback.differences import Documented, documented, undocumented
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind

DOCS = Path(__file__).parents[4] / "docs" / "prometheus.md"


def value(first: float, second: float, family: str = "hours") -> Difference:
    return Difference(Kind.VALUE, family, values=(first, second))


def test_the_documentation_has_the_reason_of_each_difference() -> None:
    docs = re.sub(r"\s+", " ", DOCS.read_text())
    for difference in documented():
        re.compile(difference.family)
        assert difference.reason in docs, difference


def test_a_difference_is_covered_by_family_and_kind() -> None:
    known = [Documented("hours(_left)?", frozenset({Kind.VALUE}), "Because.")]
    others = [value(1, 2, "more_hours"), Difference(Kind.SERIES_MISSING, "hours")]
    assert undocumented([value(1, 2), value(1, 2, "hours_left"), *others], known) == others


def test_a_value_may_differ_within_its_bound() -> None:
    known = [Documented("hours", frozenset({Kind.VALUE}), "Because.", within=0.5)]
    assert undocumented([value(1, 1.5), value(1, 1.6)], known) == [value(1, 1.6)]


def test_a_difference_may_be_documented_for_a_condition_only() -> None:
    known = [Documented("left", frozenset({Kind.SERIES_MISSING}), "Because.", only="stock says +Inf")]
    endless = Difference(Kind.SERIES_MISSING, "left", "a", values=(math.inf, math.nan))
    full = Difference(Kind.SERIES_MISSING, "left", "b", values=(100.0, math.nan))
    assert undocumented([endless, full], known) == [full]


def test_a_difference_may_be_documented_for_some_settings_only() -> None:
    known = [Documented("hours", frozenset({Kind.VALUE}), "Because.", settings="few.*")]
    assert undocumented([value(1, 2)], known, settings="few series") == []
    assert undocumented([value(1, 2)], known, settings="many") == [value(1, 2)]


def test_labels_may_differ_by_the_worker_only() -> None:
    known = [Documented("up", frozenset({Kind.LABELS}), "Because.", only="stock names the worker")]
    worker, more = Difference(Kind.LABELS, "up", "", "pid, x", "x"), Difference(Kind.LABELS, "up", "", "pid, x", "y")
    assert undocumented([worker, more], known) == [more]
