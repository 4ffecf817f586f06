"""No input makes a parser raise, nor return what its callers do not expect. `make fuzz` tries a million of them."""

from __future__ import annotations

import random

import pytest
from fuzz_inputs import SEEDS, mutated
from fuzz_targets import TARGETS

INPUTS = 400


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_parser_raise(name: str) -> None:
    draw = random.Random(name)
    for data in (*SEEDS, *(mutated(draw) for _ in range(INPUTS))):
        TARGETS[name](data)
