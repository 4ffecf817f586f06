"""The page of metrics is made from the metrics."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from litellm_evenkeel.instrumentation.definitions import PREFIX, MetricDefinition, table
from litellm_evenkeel.journal import metrics as journal
from litellm_evenkeel.metrics import self_metrics
from litellm_evenkeel.metrics.request_phases import PHASE_SECONDS
from litellm_evenkeel.rotation.inspection import metric_definitions

OF_CALLBACK = (*self_metrics.ALL, PHASE_SECONDS)
pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
CURE = """python -c "
from litellm_evenkeel.instrumentation.definitions import table
from litellm_evenkeel.journal import metrics as journal
from litellm_evenkeel.metrics import request_phases, self_metrics
from litellm_evenkeel.rotation.inspection import metric_definitions
of_callback = (*self_metrics.ALL, request_phases.PHASE_SECONDS)
print(table(metric_definitions.ALL), table(of_callback), table(journal.ALL), sep='\\n\\n')"
"""


@pytest.mark.parametrize(
    "several", [metric_definitions.ALL, OF_CALLBACK, journal.ALL], ids=["rotation", "prometheus", "journal"]
)
def test_every_metric_stands_on_its_page(several: tuple[MetricDefinition, ...]) -> None:
    assert table(several) in PAGE.read_text(), f"docs/metrics.md is out of date. Put there what this prints: {CURE}"


def test_nothing_stands_there_that_is_no_metric() -> None:
    named = set(re.findall(rf"\b{PREFIX}\w+", PAGE.read_text()))
    known = {one.full_name for one in (*metric_definitions.ALL, *OF_CALLBACK, *journal.ALL)}
    assert {name for name in named if re.sub(r"_(bucket|count|sum)$", "", name) not in known} == set()
