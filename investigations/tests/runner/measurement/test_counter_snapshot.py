"""Costs of requests between two counter snapshots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.measurement import counters
from evenkeel_lab.runner.measurement.counter_snapshot import CounterSnapshot
from evenkeel_lab.runner.targets import Target

NOTHING = CounterSnapshot(0.0, None, 0.0, {}, {}, None)


def test_each_request_has_its_share_of_commands() -> None:
    before, after = replace(NOTHING, commands={"1": 10}), replace(NOTHING, commands={"1": 15, "2": 5})
    assert after.since(before).figures(5) == {"valkey_calls": 2.0}


def test_what_a_closed_connection_has_carried_out_is_not_known() -> None:
    before, after = replace(NOTHING, commands={"1": 10, "2": 90}), replace(NOTHING, commands={"1": 15})
    assert after.since(before).figures(5) == {}


async def test_a_server_that_is_gone_is_said_in_a_sentence() -> None:
    gone = Target("on", "on", "http://127.0.0.1:1", "sk-a", "sk-a", database_url="postgresql://x@127.0.0.1:1/x")
    with pytest.raises(RigFailure, match="The counters of on cannot be read"):
        await CounterSnapshot.before(gone)
    with pytest.raises(RigFailure, match="The counters of on cannot be read"):
        await CounterSnapshot.after(gone)


def test_writes_that_found_their_file_locked_are_added_up_over_workers() -> None:
    before, after = replace(NOTHING, locked={"7": 1, "8": 2}), replace(NOTHING, locked={"7": 4, "8": 2})
    assert after.since(before).figures(6) == {"journal_locked": 0.5}
    # A worker has ended, and another one begun.
    assert replace(NOTHING, locked={"7": 4, "9": 0}).since(before).figures(6) == {}


async def test_what_a_subject_is_asked_for_is_no_part_of_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    order = []

    async def describe_bound(*_: object) -> dict[str, int]:
        order.append("asked")
        return {"7": 1}

    async def counted(*_: object) -> dict[str, int]:
        order.append("counted")
        return {}

    monkeypatch.setattr(counters, "locked", describe_bound)
    monkeypatch.setattr(counters, "operations", counted)
    target = Target("on", "on", "http://127.0.0.1:1", "sk-a", "sk-a", engines=Path(), has_file=True)
    before = await CounterSnapshot.before(target)
    after = await CounterSnapshot.after(target)
    assert order == ["asked", "counted", "counted", "asked"]
    assert after.since(before).locked == {"7": 0}
