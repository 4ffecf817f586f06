"""Profiles in the file format of speedscope, a viewer in which flame graphs can be searched and zoomed."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.stacks import pruned

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import ArmProfile

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Smaller subtrees are merged, so that a file has tens of kilobytes.
LEAST_SHARE = 0.002


def speedscope(profile: ArmProfile, title: str) -> str:
    """Return a profile as a speedscope file: a sample for each stack, with its CPU time as its weight."""
    stacks = sorted(pruned(profile.stacks, LEAST_SHARE).items())
    numbers = count()
    frames: dict[str, int] = {}
    samples = []
    for stack, _ in stacks:
        for name in stack:
            if name not in frames:
                frames[name] = next(numbers)
        samples.append([frames[name] for name in stack])
    weights = [spent for _, spent in stacks]
    sampled = {
        "type": "sampled",
        "name": title,
        "unit": "microseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    document = {
        "$schema": SCHEMA,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [sampled],
    }
    return json.dumps(document, separators=(",", ":"))
