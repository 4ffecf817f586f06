"""What counters say of the requests between two readings."""

from __future__ import annotations

from dataclasses import replace

from evenkeel_lab.session.readings import Readings

NOTHING = Readings(0.0, None, 0.0, {}, {}, None)


def test_each_request_has_its_share_of_commands() -> None:
    before, after = replace(NOTHING, commands={"1": 10}), replace(NOTHING, commands={"1": 15, "2": 5})
    assert after.since(before).figures(5) == {"valkey_calls": 2.0}


def test_what_a_closed_connection_has_carried_out_is_not_known() -> None:
    before, after = replace(NOTHING, commands={"1": 10, "2": 90}), replace(NOTHING, commands={"1": 15})
    assert after.since(before).figures(5) == {}
