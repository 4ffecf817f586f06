"""Whatever is sent: it is read, or refused with a 400. Nothing else may come of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import chat, completions, compose, embeddings, messages, responses

NAMES = st.sampled_from(
    [
        "model",
        "messages",
        "role",
        "content",
        "type",
        "text",
        "tools",
        "tool_choice",
        "function",
        "name",
        "parameters",
        "input",
        "prompt",
        "instructions",
        "stream",
        "stream_options",
        "max_tokens",
        "max_output_tokens",
        "system",
        "n",
        "input_schema",
        "response_format",
        "json_schema",
        "schema",
        "format",
        "output_config",
        "dimensions",
        "metadata",
        "encoding_format",
        "tool_calls",
        "refusal",
        "reasoning",
        "include_usage",
        "temperature",
        "allowed_tools",
        "mode",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "tool",
        "text",
        "input_text",
        "image_url",
        "function",
        "required",
        "auto",
        "any",
        "json_schema",
        "json_object",
        "message",
        "custom",
        "allowed_tools",
        "none",
        "m",
        "",
        "base64",
        "tool_use",
        "é",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 20) | st.floats(-3, 3) | WORDS
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=30
)
# Fields that are right at the top get a body past the first checks.
BODIES = st.fixed_dictionaries(
    {"model": st.just("m") | LEAVES},
    optional={
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": WORDS, "content": JSON}, optional={"tool_calls": JSON, "tool_call_id": st.just("c")}
            ),
            max_size=3,
        )
        | JSON,
        "max_tokens": st.integers(0, 30),
        "input": JSON,
        "prompt": JSON,
        "tools": st.lists(st.dictionaries(NAMES, JSON, max_size=4), max_size=2) | JSON,
        "tool_choice": JSON,
        "response_format": JSON,
        "text": JSON,
        "instructions": JSON,
        "system": JSON,
        "output_config": JSON,
        "stream": st.booleans(),
        "encoding_format": JSON,
        "dimensions": JSON,
        "n": st.integers(0, 3),
    },
)


def assert_tells(error: BadRequest) -> None:
    assert error.status == 400
    assert error.message


@pytest.mark.parametrize("family", [chat, completions, responses, messages])
@given(body=BODIES | JSON, length=st.integers(0, 20), echo=st.booleans(), eager=st.booleans())
def test_it_is_answered_or_refused(family: Any, body: Any, length: int, echo: bool, eager: bool) -> None:  # noqa: FBT001
    try:
        request = family.parse(orjson.dumps(body))
    except BadRequest as error:
        assert_tells(error)
        return
    answer = compose(request, b"1", 1, length, echo=echo, eager=eager)
    assert orjson.loads(family.response_body(request, answer))
    head, chunks, tail = family.events(request, answer)
    assert request.prompt_tokens >= 1
    assert request.max_tokens is None or len(chunks) <= request.max_tokens
    for event in (head + b"".join(chunks) + tail).split(b"\n\n"):
        data = event.rpartition(b"data: ")[2]
        assert not data or data == b"[DONE]" or orjson.loads(data)


@given(BODIES | JSON)
def test_embeddings_are_given_or_refused(body: Any) -> None:
    try:
        request = embeddings.parse(orjson.dumps(body))
    except BadRequest as error:
        assert_tells(error)
        return
    assert len(orjson.loads(embeddings.response_body(request))["data"]) == len(request.texts)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_json_are_refused(body: bytes) -> None:
    for family in (chat, completions, responses, messages, embeddings):
        with pytest.raises(BadRequest):
            family.parse(body)
