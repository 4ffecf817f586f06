"""Files for speedscope: all CPU time of a profile, by its stacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.speedscope import speedscope

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile


def test_a_file_has_the_cost_of_each_stack(profile: Profile) -> None:
    own = profile.arms["stock"]
    document = json.loads(speedscope(own, "stock"))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    (sampled,) = document["profiles"]
    costs = {
        tuple(names[number] for number in sample): weight
        for sample, weight in zip(sampled["samples"], sampled["weights"], strict=True)
    }
    assert costs == {stack: spent for stack, spent in own.stacks.items() if spent}
    assert sampled["endValue"] == sum(own.stacks.values())
    assert len(set(names)) == len(names)
