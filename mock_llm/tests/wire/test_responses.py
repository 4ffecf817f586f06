from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import orjson
import pytest
from pydantic import BaseModel

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import errors, responses

if TYPE_CHECKING:
    from conftest import Provider, Strict

SAID = "steady as she goes on an even keel"
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}
ARGUMENTS = {"place": "steady as she goes"}
TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    *["response.output_text.delta"] * 8,
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]
# What one version of the client requires and the next does not know.
UNKNOWN = {"name"}


class Place(BaseModel):
    name: str
    people: int


def test_a_whole_answer(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    provider.cached = 2
    said = openai_client.responses.create(model="keel-1", input="Say hello.", instructions="Be brief.")
    assert said.to_dict() == strict.read(openai.types.responses.Response, provider.written[0]).to_dict()
    assert (said.id, said.status, said.output_text) == ("resp_0a1b2c", "completed", SAID)
    assert said.instructions == "Be brief."
    assert (said.usage.input_tokens, said.usage.output_tokens, said.usage.total_tokens) == (9, 8, 17)
    assert said.usage.input_tokens_details.cached_tokens == 2


def test_a_stream(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    events = list(openai_client.responses.create(model="keel-1", input="Say hello.", stream=True))
    assert [event.type for event in events] == TEXT_EVENTS
    assert [event.sequence_number for event in events] == list(range(len(events)))
    for event, read in zip(
        events, strict.events(openai.types.responses.ResponseStreamEvent, provider.written[0]), strict=True
    ):
        assert event.to_dict() == read.to_dict()
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == SAID
    assert events[0].response.output == []
    assert events[-1].response.output_text == SAID


def test_the_helper_of_the_client(openai_client: openai.OpenAI) -> None:
    with openai_client.responses.stream(model="keel-1", input="Say hello.") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds == TEXT_EVENTS
    assert final.output_text == SAID


async def test_asynchronously(async_openai_client: openai.AsyncOpenAI) -> None:
    said = await async_openai_client.responses.create(model="keel-1", input="Say hello.")
    assert said.output_text == SAID
    async with async_openai_client.responses.stream(model="keel-1", input="Say hello.") as stream:
        assert [event.type async for event in stream] == TEXT_EVENTS
        assert (await stream.get_final_response()).output_text == SAID


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "get_weather"}])
def test_a_function_is_called(
    openai_client: openai.OpenAI, provider: Provider, strict: type[Strict], choice: Any
) -> None:
    asked: dict[str, Any] = {"model": "keel-1", "input": "Rain?", "tools": [TOOL], "tool_choice": choice}
    said = openai_client.responses.create(**asked)
    assert said.to_dict() == strict.read(openai.types.responses.Response, provider.written[0]).to_dict()
    (call,) = said.output
    assert (call.type, call.name, call.status) == ("function_call", "get_weather", "completed")
    assert json.loads(call.arguments) == ARGUMENTS
    assert said.tools[0].name == "get_weather"

    events = list(openai_client.responses.create(**asked, stream=True))
    strict.events(openai.types.responses.ResponseStreamEvent, provider.written[1], unknown=UNKNOWN)
    kinds = [event.type for event in events]
    deltas = kinds.count("response.function_call_arguments.delta")
    assert deltas > 1
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        *["response.function_call_arguments.delta"] * deltas,
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with openai_client.responses.stream(**asked) as stream:
        final = stream.get_final_response()
    assert json.loads(final.output[0].arguments) == ARGUMENTS


@pytest.mark.parametrize("echo", [True, False])
def test_no_more_than_max_output_tokens(
    openai_client: openai.OpenAI,
    provider: Provider,
    strict: type[Strict],
    echo: bool,  # noqa: FBT001
) -> None:
    provider.length, provider.echo = 40, echo
    asked: dict[str, Any] = {"model": "keel-1", "input": "word " * 40, "max_output_tokens": 16}
    said = openai_client.responses.create(**asked)
    assert said.to_dict() == strict.read(openai.types.responses.Response, provider.written[0]).to_dict()
    assert (said.status, said.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert said.usage.output_tokens == said.max_output_tokens == 16
    events = list(openai_client.responses.create(**asked, stream=True))
    strict.events(openai.types.responses.ResponseStreamEvent, provider.written[1])
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.output_text == said.output_text


def test_a_structured_answer(openai_client: openai.OpenAI) -> None:
    said = openai_client.responses.parse(model="keel-1", input="Where?", text_format=Place)
    assert isinstance(said.output_parsed, Place)


def test_an_input_of_many_items(openai_client: openai.OpenAI, provider: Provider) -> None:
    provider.echo = True
    said = openai_client.responses.create(
        model="keel-1",
        input=[
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": "x"}],
            },
            {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "rain"},
        ],
        metadata={"run": "1"},
        reasoning={"effort": "low"},
        temperature=0.5,
        parallel_tool_calls=False,
    )
    assert said.output_text == "Look."
    assert said.usage.input_tokens > 256 + 4 * 4
    assert (said.metadata, said.temperature, said.parallel_tool_calls) == ({"run": "1"}, 0.5, False)
    assert said.reasoning.effort == "low"


def test_the_client_reads_an_error_within_a_stream(
    openai_client: openai.OpenAI, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = errors.responses_event(0)
    monkeypatch.setattr(provider, "serve", lambda *_, **__: (200, "text/event-stream", event))
    (told,) = openai_client.responses.create(model="keel-1", input="x", stream=True)
    assert (told.type, told.message) == ("error", errors.SUNK)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({}, "input", "missing_required_parameter"),
        ({"input": 1}, "input", "invalid_type"),
        ({"input": []}, "input", "invalid_type"),
        ({"input": ["a"]}, "input[0]", "invalid_type"),
        ({"input": [{"role": "king", "content": "a"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": "user"}]}, "input[0].content", "missing_required_parameter"),
        ({"input": [{"role": "user", "content": [{"type": "x"}]}]}, "input[0].content[0].type", "invalid_value"),
        ({"input": "a", "max_output_tokens": 15}, "max_output_tokens", "integer_below_min_value"),
        ({"input": "a", "instructions": 1}, "instructions", "invalid_type"),
        ({"input": "a", "text": {"format": {"type": "x"}}}, "text.format.type", "invalid_value"),
        ({"input": "a", "tools": [{"type": "function"}]}, "tools[0].name", "missing_required_parameter"),
    ],
)
def test_a_bad_request_says_what_is_wrong(fields: Any, param: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        responses.parse(orjson.dumps({"model": "m"} | fields))
    assert (refused.value.param, refused.value.code) == (param, code)
