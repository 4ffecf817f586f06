from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from evenkeel_load.http import payload
from evenkeel_load.plan import Plan, make_plan
from evenkeel_load.scenario import SCENARIOS


def plan(**options: Any) -> Plan:
    return make_plan(SCENARIOS["chat"], 10, "run", options)


def test_fields_that_are_none_are_left_out() -> None:
    body = orjson.loads(payload.encode({"model": "gpt-4o-mini", "max_tokens": None, "user": "a-user"}, "5-3"))
    assert body == {"model": "gpt-4o-mini", "user": "a-user", "extra_headers": {"x-mock-key": "5-3"}}


def test_the_mock_draws_the_latency_from_the_seed_and_the_number() -> None:
    assert payload.key(plan(seed=5), 3) == "5-3"


def test_a_prompt_begins_with_the_seed_and_the_number() -> None:
    assert payload.prompt(plan(seed=5), 3).startswith("5-3 ")


@given(st.integers(1, 20_000))
def test_what_is_said_is_as_long_as_asked(size: int) -> None:
    said = payload.text("7-123", size)
    assert len(said) == max(size, len("7-123"))
    assert said.startswith("7-123")


@pytest.mark.parametrize(("prompts", "different"), [(0, 100), (1, 1), (7, 7)])
def test_how_many_different_prompts_there_are(prompts: int, different: int) -> None:
    texts = {payload.prompt(plan(prompts=prompts), number) for number in range(100)}
    assert len(texts) == different
