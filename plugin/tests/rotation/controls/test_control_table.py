"""Controls in force: replacement, withdrawal, end, and what they do to specs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Pause, Traffic
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec

SPEC = DeploymentSpec("id", "north", "m", 1.0, 1)


class World:
    def __init__(self) -> None:
        self.now = 1000.0
        self.changed: list[str] = []
        self.table = ControlTable(lambda: self.now)
        self.table.on_change = lambda account, _kinds: self.changed.append(account)


def paused(account: str = "north", until: float | None = None, traffic: Traffic = Traffic.PAUSED) -> Control:
    return Control(account=account, kind=ControlKind.TRAFFIC, traffic=traffic, until=until)


def test_a_later_control_of_the_same_kind_replaces_the_earlier_one() -> None:
    world = World()
    world.table.put(paused())
    world.table.put(paused(traffic=Traffic.DRAINING, until=1010.0))
    assert world.table.pause_of("north") == Pause(1010.0, is_draining=True)
    assert world.table.counts() == {"paused": 0, "draining": 1, "priority": 0, "weight": 0}
    assert world.changed == ["north", "north"]


def test_priority_and_weight_change_the_spec_of_their_account_only() -> None:
    world = World()
    world.table.put(Control(account="north", kind=ControlKind.PRIORITY, number=3))
    world.table.put(Control(account="north", kind=ControlKind.WEIGHT, number=0.5))
    changed = world.table.applied_to(SPEC)
    assert (changed.priority, changed.weight) == (3, 0.5)
    other = DeploymentSpec("other", "south", "m")
    assert world.table.applied_to(other) == other
    world.table.withdraw(("north", ControlKind.WEIGHT))
    assert world.table.applied_to(SPEC).weight == SPEC.weight


def test_a_control_that_has_ended_is_removed_once_and_reported() -> None:
    world = World()
    world.table.put(paused(until=1010.0))
    world.table.expire()
    assert world.table.pause_of("north") is not None
    world.now = 1010.0
    world.table.expire()
    assert world.table.pause_of("north") is None
    assert world.changed == ["north", "north"]


def test_a_change_names_the_account_and_the_kinds() -> None:
    world, changed = World(), []
    world.table.on_change = lambda account, kinds: changed.append((account, kinds))
    weight = Control(account="south", kind=ControlKind.WEIGHT, number=2)
    world.table.replace([paused(), weight, paused("south")])
    assert changed == [
        ("north", {ControlKind.TRAFFIC}),
        ("south", {ControlKind.TRAFFIC, ControlKind.WEIGHT}),
    ]


def test_the_same_controls_again_change_nothing() -> None:
    world = World()
    world.table.replace([paused()])
    world.table.replace([paused()])
    assert world.changed == ["north"]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "traffic"},
        {"kind": "traffic", "traffic": "paused", "number": 1},
        {"kind": "weight", "number": 0},
        {"kind": "weight", "traffic": "paused"},
        {"kind": "priority", "number": 1.5},
        {"kind": "priority", "number": -1},
    ],
)
def test_a_control_without_a_sensible_value_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Control.model_validate({"account": "north", **fields})


controls = st.builds(
    Control,
    account=st.sampled_from(["north", "south", "east"]),
    kind=st.just(ControlKind.TRAFFIC),
    traffic=st.sampled_from(Traffic),
    until=st.none() | st.floats(900, 1100),
)


@given(st.lists(controls, max_size=8))
def test_each_account_has_at_most_its_last_unfinished_control(put: list[Control]) -> None:
    world = World()
    for control in put:
        world.table.put(control)
    for account in ("north", "south", "east"):
        of_account = [control for control in put if control.account == account]
        # A control that has ended when it is put leaves the earlier one in force.
        in_force = [control for control in of_account if control.ends_at() > world.now]
        assert world.table.of_account(account) == tuple(in_force[-1:])
