"""The load balancer that keeps its accounts in a database, for a moment each."""

from __future__ import annotations

from statistics import median

import pytest

from evenkeel_lab.bench.rotation import stored_snapshot
from evenkeel_lab.bench.rotation.stored_snapshot import p95, seen_after
from evenkeel_lab.errors import WrongUse


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_snapshot, "USAGE_ROWS", 20)
    monkeypatch.setattr(stored_snapshot, "PROVIDER_SECONDS", 0.02)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_request_takes_at_least_as_long_as_its_provider(store: str) -> None:
    assert p95(1, ttl=0.1, store=store, clients=3, seconds=0.4) > 20


@pytest.mark.parametrize("edit", ["account", "usage"])
def test_an_edit_is_seen_earlier_if_snapshots_are_younger(edit: str) -> None:
    young, old = (median(seen_after(seed, ttl=ttl, edit=edit) for seed in range(3)) for ttl in (0.05, 0.5))
    assert 0 < young < old


def test_a_store_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(WrongUse, match="no store 'oracle'"):
        p95(1, ttl=1.0, store="oracle")
