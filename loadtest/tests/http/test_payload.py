from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from evenkeel_load.http import payload
from evenkeel_load.plan import make_plan as plan
from evenkeel_load.scenario import CHAT, EMBEDDINGS, STREAM, Call


def body(call: Call, number: int, user: str | None = None, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(payload.body(plan("chat", 10, "run", given), call, number, user))
    return found


def test_a_chat_request() -> None:
    found = body(CHAT, 3, max_tokens=7, seed=5)
    assert (found["model"], found["max_tokens"], "user" in found) == ("gpt-4o-mini", 7, False)
    assert found["extra_headers"] == {"x-mock-key": "5-3"}
    assert "max_tokens" not in body(CHAT, 3)


def test_a_stream_asks_for_its_usage() -> None:
    found = body(STREAM, 0, "somebody")
    assert (found["stream"], found["stream_options"], found["user"]) == (True, {"include_usage": True}, "somebody")


def test_embeddings_have_an_input() -> None:
    found = body(EMBEDDINGS, 0)
    assert (found["model"], "messages" in found) == ("text-embedding-3-small", False)
    assert found["input"].startswith("0-0 ")


@given(st.integers(1, 20_000))
def test_what_is_said_is_as_long_as_asked(size: int) -> None:
    said = payload.text("7-123", size)
    assert len(said) == max(size, len("7-123"))
    assert said.startswith("7-123")


@pytest.mark.parametrize(("prompts", "different"), [(0, 100), (1, 1), (7, 7)])
def test_how_many_different_prompts_there_are(prompts: int, different: int) -> None:
    said = {body(CHAT, number, prompts=prompts)["messages"][0]["content"] for number in range(100)}
    assert len(said) == different
