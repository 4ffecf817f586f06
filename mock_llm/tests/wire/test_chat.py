from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import orjson
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import chat, compose, errors

if TYPE_CHECKING:
    from conftest import Provider, Strict

SAID = "steady as she goes on an even keel"
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": 'Say "héllo"\n🚢'}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
            "required": ["place", "unit"],
            "additionalProperties": False,
        },
    },
}
ARGUMENTS = {"place": "steady as she goes", "unit": "C"}
NAMED = {"type": "function", "function": {"name": "get_weather"}}


class Place(BaseModel):
    name: str
    people: int
    near: list[str]


def test_a_whole_answer(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    provider.cached = 3
    said = openai_client.chat.completions.create(model="keel-1", messages=ASKED)
    assert said == strict.read(openai.types.chat.ChatCompletion, provider.written[0])
    assert (said.id, said.model, said.created) == ("chatcmpl-0a1b2c", "keel-1", 1_750_000_000)
    assert said.choices[0].message.content == SAID
    assert said.choices[0].finish_reason == "stop"
    assert said.usage.prompt_tokens == 15  # 27 bytes, two messages
    assert said.usage.completion_tokens == 8
    assert said.usage.total_tokens == 23
    assert said.usage.prompt_tokens_details.cached_tokens == 3


@pytest.mark.parametrize("include_usage", [True, False])
def test_a_stream(
    openai_client: openai.OpenAI,
    provider: Provider,
    strict: type[Strict],
    include_usage: bool,  # noqa: FBT001
) -> None:
    options = {"stream_options": {"include_usage": True}} if include_usage else {}
    stream = openai_client.chat.completions.create(model="keel-1", messages=ASKED, stream=True, **options)
    events = list(stream)
    assert events == strict.events(openai.types.chat.ChatCompletionChunk, provider.written[0])
    assert provider.written[0].endswith(b"data: [DONE]\n\n")
    assert events[0].choices[0].delta.role == "assistant"
    assert "".join(event.choices[0].delta.content or "" for event in events if event.choices) == SAID
    reasons = [event.choices[0].finish_reason for event in events if event.choices]
    assert reasons == [None] * 9 + ["stop"]
    if include_usage:
        assert events[-1].choices == []
        assert events[-1].usage.total_tokens == 23
    assert all(event.usage is None for event in events[: -1 if include_usage else None])


async def test_asynchronously(async_openai_client: openai.AsyncOpenAI) -> None:
    said = await async_openai_client.chat.completions.create(model="keel-1", messages=ASKED)
    assert said.choices[0].message.content == SAID
    stream = await async_openai_client.chat.completions.create(model="keel-1", messages=ASKED, stream=True)
    words = [event.choices[0].delta.content or "" async for event in stream]
    assert "".join(words) == SAID


def test_an_echo_says_what_the_user_said(openai_client: openai.OpenAI, provider: Provider) -> None:
    provider.echo = True
    said = openai_client.chat.completions.create(model="keel-1", messages=ASKED)
    assert said.choices[0].message.content == ASKED[1]["content"]
    stream = openai_client.chat.completions.create(model="keel-1", messages=ASKED, stream=True)
    assert "".join(event.choices[0].delta.content or "" for event in stream) == ASKED[1]["content"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("echo", [True, False])
def test_no_more_than_max_tokens(openai_client: openai.OpenAI, provider: Provider, name: str, echo: bool) -> None:  # noqa: FBT001
    provider.echo = echo
    said = openai_client.chat.completions.create(model="keel-1", messages=ASKED, **{name: 2})
    assert said.usage.completion_tokens == 2
    assert said.choices[0].finish_reason == "length"
    assert said.choices[0].message.content == ('Say "h' + "é" if echo else "steady as")


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_tool_is_called(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict], choice: Any) -> None:
    said = openai_client.chat.completions.create(model="keel-1", messages=ASKED, tools=[TOOL], tool_choice=choice)
    assert said == strict.read(openai.types.chat.ChatCompletion, provider.written[0])
    assert said.choices[0].finish_reason == "tool_calls"
    assert said.choices[0].message.content is None
    (call,) = said.choices[0].message.tool_calls
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == ARGUMENTS


def test_a_tool_is_called_in_a_stream(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    asked: dict[str, Any] = {"model": "keel-1", "messages": ASKED, "tools": [TOOL], "tool_choice": "required"}
    events = list(openai_client.chat.completions.create(**asked, stream=True))
    assert events == strict.events(openai.types.chat.ChatCompletionChunk, provider.written[0])
    calls = [call for event in events for call in event.choices[0].delta.tool_calls or []]
    assert (calls[0].id, calls[0].function.name) == ("call_0a1b2c0", "get_weather")
    assert json.loads("".join(call.function.arguments for call in calls)) == ARGUMENTS
    assert events[-1].choices[0].finish_reason == "tool_calls"
    # The client's own accumulation comes to the same.
    with openai_client.chat.completions.stream(**asked) as stream:
        final = stream.get_final_completion()
    assert json.loads(final.choices[0].message.tool_calls[0].function.arguments) == ARGUMENTS


@pytest.mark.parametrize(
    ("options", "called"),
    [
        ({"tools": [TOOL]}, False),
        ({"tools": [TOOL], "tool_choice": "auto"}, False),
        ({"tools": [TOOL], "tool_choice": "none"}, False),
        ({"tools": [{"type": "custom", "custom": {"name": "shell"}}], "tool_choice": "required"}, False),
    ],
)
def test_no_tool_is_called_that_is_not_demanded(openai_client: openai.OpenAI, options: Any, called: bool) -> None:  # noqa: FBT001
    said = openai_client.chat.completions.create(model="keel-1", messages=ASKED, **options)
    assert bool(said.choices[0].message.tool_calls) is called


def test_an_eager_provider_calls_a_tool_that_is_merely_allowed(
    openai_client: openai.OpenAI, provider: Provider
) -> None:
    provider.eager = True
    asked: dict[str, Any] = {"model": "keel-1", "messages": ASKED, "tools": [TOOL]}
    assert openai_client.chat.completions.create(**asked).choices[0].message.tool_calls
    assert openai_client.chat.completions.create(**asked, tool_choice="none").choices[0].message.content == SAID
    subset = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}
    provider.eager = False
    assert openai_client.chat.completions.create(**asked, tool_choice=subset).choices[0].message.tool_calls


def test_the_result_of_a_tool_can_be_sent_back(openai_client: openai.OpenAI) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    history = [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]
    said = openai_client.chat.completions.create(model="keel-1", messages=history, tools=[TOOL])
    assert said.choices[0].message.content == SAID
    assert said.usage.prompt_tokens > 60


def test_several_choices(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    asked: dict[str, Any] = {"model": "keel-1", "messages": ASKED, "n": 3}
    said = openai_client.chat.completions.create(**asked)
    assert said == strict.read(openai.types.chat.ChatCompletion, provider.written[0])
    assert [choice.index for choice in said.choices] == [0, 1, 2]
    assert said.usage.completion_tokens == 24
    events = list(openai_client.chat.completions.create(**asked, stream=True))
    assert events == strict.events(openai.types.chat.ChatCompletionChunk, provider.written[1])
    for index in range(3):
        words = [event.choices[0].delta.content or "" for event in events if event.choices[0].index == index]
        assert "".join(words) == SAID


def test_json_is_answered_where_it_is_asked_for(openai_client: openai.OpenAI) -> None:
    said = openai_client.chat.completions.create(
        model="keel-1", messages=ASKED, response_format={"type": "json_object"}
    )
    assert json.loads(said.choices[0].message.content) == {"answer": "steady as she goes"}
    parsed = openai_client.chat.completions.parse(model="keel-1", messages=ASKED, response_format=Place)
    assert isinstance(parsed.choices[0].message.parsed, Place)


def test_parts_of_a_message_count(openai_client: openai.OpenAI, provider: Provider) -> None:
    provider.echo = True
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    said = openai_client.chat.completions.create(model="keel-1", messages=[{"role": "user", "content": parts}])
    assert said.choices[0].message.content == "What is this?"
    assert said.usage.prompt_tokens == 4 + 4 + 256


def test_a_name_that_needs_escaping(openai_client: openai.OpenAI) -> None:
    name = 'a"b\\c%d\nü'
    assert openai_client.chat.completions.create(model=name, messages=ASKED).model == name
    events = list(openai_client.chat.completions.create(model=name, messages=ASKED, stream=True))
    assert {event.model for event in events} == {name}


def test_what_a_prompt_cache_compares_begins_with_the_tools() -> None:
    request = chat.parse(orjson.dumps({"model": "m", "messages": ASKED, "tools": [TOOL]}))
    assert request.prompt.startswith(b'[{"type":"function"')
    assert request.prompt.endswith(ASKED[1]["content"].encode())


def user(**fields: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": "x"}]} | fields


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        (b"", None, None),
        (b"[]", None, None),
        (b'{"model"', None, None),
        ({"messages": []}, "model", "missing_required_parameter"),
        (user(model=1), "model", "invalid_type"),
        (user(model=""), "model", "empty_string"),
        ({"model": "m"}, "messages", "missing_required_parameter"),
        (user(messages=[]), "messages", "empty_array"),
        (user(messages="hi"), "messages", "invalid_type"),
        (user(messages=["hi"]), "messages[0]", "invalid_type"),
        (user(messages=[{"content": "x"}]), "messages[0].role", "missing_required_parameter"),
        (user(messages=[{"role": "king", "content": "x"}]), "messages[0].role", "invalid_value"),
        (user(messages=[{"role": "user"}]), "messages[0].content", "missing_required_parameter"),
        (user(messages=[{"role": "user", "content": 1}]), "messages[0].content", "invalid_type"),
        (user(messages=[{"role": "user", "content": [{"type": "x"}]}]), "messages[0].content[0].type", "invalid_value"),
        (user(messages=[{"role": "tool", "content": "x"}]), "messages[0].tool_call_id", "missing_required_parameter"),
        (user(stream="yes"), "stream", "invalid_type"),
        (user(stream_options={"include_usage": True}), "stream_options", None),
        (user(max_tokens=0), "max_tokens", "integer_below_min_value"),
        (user(max_tokens=1.5), "max_tokens", "invalid_type"),
        (user(max_tokens=1, max_completion_tokens=1), "max_tokens", "invalid_parameter_combination"),
        (user(temperature=3), "temperature", "decimal_above_max_value"),
        (user(top_p=-1), "top_p", "decimal_below_min_value"),
        (user(n=0), "n", "integer_below_min_value"),
        (user(tools={}), "tools", "invalid_type"),
        (user(tools=[{"type": "function"}]), "tools[0].function", "invalid_type"),
        (user(tools=[{"type": "function", "function": {}}]), "tools[0].function.name", "missing_required_parameter"),
        (user(tool_choice="required"), "tool_choice", "invalid_value"),
        (user(tools=[TOOL], tool_choice="sometimes"), "tool_choice", "invalid_value"),
        (
            user(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "absent"}}),
            "tool_choice",
            "invalid_value",
        ),
        (user(response_format={"type": "xml"}), "response_format.type", "invalid_value"),
        (user(response_format={"type": "json_schema"}), "response_format.json_schema", "invalid_type"),
    ],
)
def test_a_bad_request_says_what_is_wrong(body: Any, param: str | None, code: str | None) -> None:
    with pytest.raises(BadRequest) as refused:
        chat.parse(body if isinstance(body, bytes) else orjson.dumps(body))
    assert (refused.value.status, refused.value.param, refused.value.code) == (400, param, code)


def test_the_client_reads_what_is_wrong(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        openai_client.chat.completions.create(model="keel-1", messages=[])
    assert refused.value.type == "invalid_request_error"
    assert (refused.value.param, refused.value.code) == ("messages", "empty_array")


def test_the_client_reads_an_error_within_a_stream(
    openai_client: openai.OpenAI, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = errors.openai_event(0)
    monkeypatch.setattr(provider, "serve", lambda *_, **__: (200, "text/event-stream", event))
    with pytest.raises(openai.APIError, match="had an error"):
        list(openai_client.chat.completions.create(model="keel-1", messages=ASKED, stream=True))


def test_nesting_that_can_be_read_but_not_written_is_refused() -> None:
    deep = b'{"model":"m","messages":[{"role":"user","content":"x"}],"tools":%b%b}' % (b"[" * 900, b"]" * 900)
    with pytest.raises(BadRequest):
        chat.parse(deep)


@given(st.integers(0, 300), st.integers(1, 300), st.booleans())
def test_a_stream_says_what_a_whole_answer_says(length: int, limit: int, streamed: bool) -> None:  # noqa: FBT001
    request = chat.parse(orjson.dumps(user(max_tokens=limit, stream=streamed)))
    answer = compose(request, b"1", 1, length)
    whole = orjson.loads(chat.response_body(request, answer))
    _, chunks, tail = chat.events(request, answer)
    words = [orjson.loads(chunk[6:])["choices"][0]["delta"]["content"] for chunk in chunks]
    assert len(chunks) == min(length, limit) == answer.completion_tokens
    assert "".join(words) == whole["choices"][0]["message"]["content"]
    last = orjson.loads(tail.split(b"\n\n")[0][6:])["choices"][0]["finish_reason"]
    assert last == whole["choices"][0]["finish_reason"] == ("length" if length > limit else "stop")
