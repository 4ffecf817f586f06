"""Plot of what requests waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.report.plots.waits import MS, waits

if TYPE_CHECKING:
    from evenkeel_lab.tracing.traces import Traces


@pytest.mark.parametrize("arms", [("lean", "stock"), ("stock", "lean")])
def test_all_panels_have_room_for_the_longest_request_of_all_arms(traces: Traces, arms: tuple[str, ...]) -> None:
    longest = max(trace.duration for requests in traces.arms.values() for trace in requests) / MS
    for axes in waits(replace(traces, arms={arm: traces.arms[arm] for arm in arms}), "stock").axes:
        bottom, top = axes.get_ylim()
        assert bottom == 0
        assert top >= longest
