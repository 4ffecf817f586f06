from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import orjson
import pytest

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import errors, messages

if TYPE_CHECKING:
    from conftest import Provider, Strict

SAID = "steady as she goes on an even keel"
ASKED: dict[str, Any] = {
    "model": "keel-1",
    "max_tokens": 100,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": 'Say "héllo"\n🚢'}],
}
TOOL = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}
INPUT = {"place": "steady as she goes"}


def test_a_whole_answer(anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict]) -> None:
    provider.cached = 3
    said = anthropic_client.messages.create(**ASKED)
    assert said == strict.read(anthropic.types.Message, provider.written[0])
    assert (said.id, said.model, said.stop_reason) == ("msg_0a1b2c", "keel-1", "end_turn")
    assert said.content[0].text == SAID
    # 27 bytes and one message, of which three tokens came from the cache: Anthropic counts those apart.
    assert (said.usage.input_tokens, said.usage.cache_read_input_tokens, said.usage.output_tokens) == (8, 3, 8)


def test_a_stream(anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict]) -> None:
    provider.cached = 3
    events = list(anthropic_client.messages.create(**ASKED, stream=True))
    assert events == strict.events(anthropic.types.RawMessageStreamEvent, provider.written[0])
    assert [event.type for event in events] == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 8,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert provider.written[0].split(b"\n\n")[2] == b'event: ping\ndata: {"type":"ping"}'
    assert "".join(event.delta.text for event in events if event.type == "content_block_delta") == SAID
    assert events[0].message.usage.input_tokens == 8
    assert events[-2].usage.output_tokens == 8
    assert events[-2].delta.stop_reason == "end_turn"


def test_the_helper_of_the_client(anthropic_client: anthropic.Anthropic) -> None:
    with anthropic_client.messages.stream(**ASKED) as stream:
        assert "".join(stream.text_stream) == SAID
        final = stream.get_final_message()
    whole = anthropic_client.messages.create(**ASKED)
    assert final.content[0].text == SAID
    assert (final.id, final.stop_reason, final.usage) == (whole.id, whole.stop_reason, whole.usage)


async def test_asynchronously(async_anthropic_client: anthropic.AsyncAnthropic) -> None:
    said = await async_anthropic_client.messages.create(**ASKED)
    assert said.content[0].text == SAID
    async with async_anthropic_client.messages.stream(**ASKED) as stream:
        assert "".join([text async for text in stream.text_stream]) == SAID
        assert (await stream.get_final_message()).usage == said.usage
    events = await async_anthropic_client.messages.create(**ASKED, stream=True)
    assert [event.type async for event in events][-1] == "message_stop"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_tool_is_used(
    anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict], choice: Any
) -> None:
    asked = ASKED | {"tools": [TOOL], "tool_choice": choice}
    said = anthropic_client.messages.create(**asked)
    assert said == strict.read(anthropic.types.Message, provider.written[0])
    (block,) = said.content
    assert (block.type, block.name, block.input, said.stop_reason) == ("tool_use", "get_weather", INPUT, "tool_use")
    events = list(anthropic_client.messages.create(**asked, stream=True))
    assert events == strict.events(anthropic.types.RawMessageStreamEvent, provider.written[1])
    assert {event.delta.type for event in events if event.type == "content_block_delta"} == {"input_json_delta"}
    with anthropic_client.messages.stream(**asked) as stream:
        final = stream.get_final_message()
    assert (final.content[0].id, final.content[0].input) == (block.id, INPUT)


@pytest.mark.parametrize("choice", [None, {"type": "auto"}, {"type": "none"}])
def test_no_tool_is_used_that_is_not_demanded(
    anthropic_client: anthropic.Anthropic, provider: Provider, choice: Any
) -> None:
    asked = ASKED | {"tools": [TOOL]} | ({"tool_choice": choice} if choice else {})
    assert anthropic_client.messages.create(**asked).content[0].type == "text"
    provider.eager = True
    allowed = choice != {"type": "none"}
    assert anthropic_client.messages.create(**asked).content[0].type == ("tool_use" if allowed else "text")


def test_no_more_than_max_tokens(
    anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict]
) -> None:
    said = anthropic_client.messages.create(**ASKED | {"max_tokens": 2})
    assert (said.stop_reason, said.content[0].text, said.usage.output_tokens) == ("max_tokens", "steady as", 2)
    asked = ASKED | {"max_tokens": 2, "tools": [TOOL], "tool_choice": {"type": "any"}}
    cut = anthropic_client.messages.create(**asked)
    assert cut == strict.read(anthropic.types.Message, provider.written[1])
    assert (cut.stop_reason, cut.content[0].input) == ("max_tokens", {})
    with anthropic_client.messages.stream(**asked) as stream:
        assert stream.get_final_message().stop_reason == "max_tokens"


def test_an_echo_says_what_the_user_said(anthropic_client: anthropic.Anthropic, provider: Provider) -> None:
    provider.echo = True
    blocks = [
        {"type": "text", "text": "What is "},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "text", "text": "this?"},
    ]
    said = anthropic_client.messages.create(**ASKED | {"messages": [{"role": "user", "content": blocks}]})
    assert said.content[0].text == "What is \nthis?"
    assert said.usage.input_tokens == 6 + 4 + 256


def test_a_conversation_with_a_tool(anthropic_client: anthropic.Anthropic) -> None:
    history = [
        *ASKED["messages"],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "get_weather", "input": INPUT}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "rain"}]},
    ]
    said = anthropic_client.messages.create(**ASKED | {"messages": history, "tools": [TOOL]})
    assert said.content[0].text == SAID


def test_a_structured_answer(anthropic_client: anthropic.Anthropic) -> None:
    shape = {"format": {"type": "json_schema", "schema": TOOL["input_schema"]}}
    said = anthropic_client.messages.create(**ASKED, output_config=shape)
    assert orjson.loads(said.content[0].text) == INPUT


def test_tokens_are_counted_as_they_are_billed(
    anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict]
) -> None:
    asked = {name: value for name, value in ASKED.items() if name != "max_tokens"} | {"tools": [TOOL]}
    counted = anthropic_client.messages.count_tokens(**asked)
    assert counted == strict.read(anthropic.types.MessageTokensCount, provider.written[0])
    said = anthropic_client.messages.create(**asked, max_tokens=1)
    assert counted.input_tokens == said.usage.input_tokens


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "1"}, "max_tokens"),
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": {}}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": ["a"]}, "messages.0"),
        ({"messages": [{"role": "system", "content": "a"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0.type"),
        ({"system": 1}, "system"),
        ({"stream": 1}, "stream"),
        ({"temperature": 2}, "temperature"),
        ({"tools": {"a": 1}}, "tools"),
        ({"tools": [{"name": "a"}]}, "tools.0.input_schema"),
        ({"tools": [TOOL], "tool_choice": "any"}, "tool_choice.type"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "absent"}}, "tool_choice"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format"),
    ],
)
def test_a_bad_request_says_what_is_wrong(fields: Any, place: str) -> None:
    body = {name: value for name, value in (ASKED | fields).items() if value is not None}
    with pytest.raises(BadRequest, match=rf"^{place}: ") as refused:
        messages.parse(orjson.dumps(body))
    assert refused.value.status == 400


def test_the_client_reads_what_is_wrong(anthropic_client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        anthropic_client.messages.create(**ASKED | {"messages": []})
    assert refused.value.body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "messages: at least one message is required"},
    }


def test_the_client_reads_an_error_within_a_stream(
    anthropic_client: anthropic.Anthropic, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = errors.anthropic_event(0)
    monkeypatch.setattr(provider, "serve", lambda *_, **__: (200, "text/event-stream", event))
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        list(anthropic_client.messages.create(**ASKED, stream=True))
