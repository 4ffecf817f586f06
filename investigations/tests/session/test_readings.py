"""What counters say of the requests between two readings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.session.arms import Target
from evenkeel_lab.session.readings import Readings

NOTHING = Readings(0.0, None, 0.0, {}, {}, None)


def test_each_request_has_its_share_of_commands() -> None:
    before, after = replace(NOTHING, commands={"1": 10}), replace(NOTHING, commands={"1": 15, "2": 5})
    assert after.since(before).figures(5) == {"valkey_calls": 2.0}


def test_what_a_closed_connection_has_carried_out_is_not_known() -> None:
    before, after = replace(NOTHING, commands={"1": 10, "2": 90}), replace(NOTHING, commands={"1": 15})
    assert after.since(before).figures(5) == {}


async def test_a_server_that_is_gone_is_said_in_a_sentence() -> None:
    gone = Target("on", "on", "http://127.0.0.1:1", "sk-a", "sk-a", database_url="postgresql://x@127.0.0.1:1/x")
    with pytest.raises(RigFailure, match="What on has spent cannot be read"):
        await Readings.of(gone)
