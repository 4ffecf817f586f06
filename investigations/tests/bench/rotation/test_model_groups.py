"""Picks and the memory of what is remembered, with few of both."""

from __future__ import annotations

import pytest

from evenkeel_lab.bench.rotation.model_groups import pick, remembered


@pytest.mark.parametrize("changes_every", [0, 3])
def test_a_pick_can_be_measured_while_deployments_change(changes_every: int) -> None:
    assert pick(1, groups=2, accounts=5, picks=100, changes_every=changes_every) > 0


def test_more_groups_take_more_memory() -> None:
    few, many = (remembered(1, groups=groups) for groups in (3, 60))
    assert 0 < few < many
