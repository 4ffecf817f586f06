"""The list of faults."""

from __future__ import annotations

from itertools import pairwise

from evenkeel_lab.chaos.fault import Fault
from evenkeel_lab.chaos.faults import FAULTS, in_turn
from evenkeel_lab.chaos.strikes.proxies import nothing


def fault(name: str) -> Fault:
    return Fault(name, name, nothing)


def test_the_groups_take_turns() -> None:
    groups = [[fault("a1"), fault("a2"), fault("a3")], [fault("b1")], [fault("c1"), fault("c2")]]
    assert [each.name for each in in_turn(groups)] == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_faults_of_a_server_that_log_the_same_do_not_follow_each_other() -> None:
    assert not any(first.log and first.log == second.log for first, second in pairwise(FAULTS))


def test_each_fault_has_a_name_of_its_own_and_some_are_for_continuous_integration() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS)
    assert 5 <= sum(each.is_quick for each in FAULTS) <= 8
