"""A proxy whose database fails. The faults themselves are measured by an investigation."""

from __future__ import annotations

import pytest

from evenkeel_lab.bench.prometheus_callback.failing_database import IN_LOG, IN_METRICS, requests
from evenkeel_lab.errors import WrongUse


async def test_an_unknown_fault_is_an_error() -> None:
    with pytest.raises(WrongUse, match="There is no fault 'slow'"):
        await requests(1, fault="slow")


@pytest.mark.parametrize(
    ("line", "is_seen"),
    [
        ("evenkeel: budgets of kind user could not be looked up in postgres: timeout", True),
        ("Prometheus: error getting user info: no connection", True),
        ("Budget lookup failed for user; cache will not be populated. Error: no connection.", True),
        ("INFO: 127.0.0.1 - POST /v1/chat/completions 200", False),
    ],
)
def test_a_log_that_names_a_failed_lookup(line: str, *, is_seen: bool) -> None:
    assert (IN_LOG.search(line) is not None) is is_seen


@pytest.mark.parametrize(
    ("line", "is_seen"),
    [
        ('evenkeel_budget_lookup_failures_total{reason="timeout"} 3.0', True),
        ('evenkeel_budget_lookup_failures_total{reason="timeout"} 0.0', False),
        ('litellm_spend_metric_total{team="failing"} 3.0', False),
    ],
)
def test_metrics_that_count_failed_lookups(line: str, *, is_seen: bool) -> None:
    assert (IN_METRICS.search(line) is not None) is is_seen
