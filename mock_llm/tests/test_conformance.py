"""Every endpoint, with the official clients, over the wire: called and awaited, whole and streamed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from conftest import RunMock

SAID = "steady as she goes on an even keel"
ASKED: list[Any] = [{"role": "user", "content": "How is the sea?"}]
WEATHER = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
RESPONSES_TOOL = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}
MESSAGES_TOOL = {"name": "weather", "input_schema": WEATHER}
ARGUMENTS = '{"place":"steady as she goes"}'
# A little time between the chunks, so that they come one by one.
SETTINGS = {
    "latency": {"ttft_ms": 5, "gap_ms": 2},
    "accounts": [
        {"name": "good", "key": "sk-good"},
        {"name": "spent", "key": "sk-spent", "rpm": 1},
        {"name": "gone", "key": "sk-gone", "revoked": True},
    ],
}


@pytest.fixture(scope="module")
def url(run_mock: RunMock) -> Iterator[str]:
    with run_mock(SETTINGS, "--workers", "2") as mock:
        yield mock.url


class Clients:
    """The four official ones, for one account."""

    def __init__(self, url: str, key: str = "sk-good") -> None:
        openai, anthropic = (importlib.import_module(name) for name in ("openai", "anthropic"))
        self.openai = openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)
        self.async_openai = openai.AsyncOpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)
        self.anthropic = anthropic.Anthropic(api_key=key, base_url=url, max_retries=0)
        self.async_anthropic = anthropic.AsyncAnthropic(api_key=key, base_url=url, max_retries=0)

    async def close(self) -> None:
        self.openai.close()
        self.anthropic.close()
        await self.async_openai.close()
        await self.async_anthropic.close()


@pytest.fixture
async def clients(url: str) -> AsyncIterator[Clients]:
    opened = Clients(url)
    yield opened
    await opened.close()


async def every(call: Any, async_call: Any, **arguments: Any) -> list[Any]:
    """Return the answers to a call, made and awaited."""
    return [call(**arguments), await async_call(**arguments)]


async def streamed(call: Any, async_call: Any, **arguments: Any) -> list[list[Any]]:
    """Return the events of a stream, iterated over both ways."""
    return [
        list(call(**arguments, stream=True)),
        [event async for event in await async_call(**arguments, stream=True)],
    ]


async def test_chat(clients: Clients) -> None:
    calls = clients.openai.chat.completions.create, clients.async_openai.chat.completions.create
    for answer in await every(*calls, model="gpt-4o", messages=ASKED):
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (SAID, "stop")
        assert answer.usage.completion_tokens == 8
    options = {"include_usage": True}
    for events in await streamed(*calls, model="gpt-4o", messages=ASKED, max_tokens=3, stream_options=options):
        assert "".join(event.choices[0].delta.content or "" for event in events[:-1]) == "steady as she"
        assert events[-2].choices[0].finish_reason == "length"
        assert (events[-1].choices, events[-1].usage.completion_tokens) == ([], 3)


async def test_chat_that_calls_a_tool(clients: Clients) -> None:
    calls = clients.openai.chat.completions.create, clients.async_openai.chat.completions.create
    wanted = {"model": "gpt-4o", "messages": ASKED, "tools": [CHAT_TOOL], "tool_choice": "required"}
    for answer in await every(*calls, **wanted):
        (call,) = answer.choices[0].message.tool_calls
        assert (call.function.name, call.function.arguments) == ("weather", ARGUMENTS)
    for events in await streamed(*calls, **wanted):
        deltas = [event.choices[0].delta.tool_calls for event in events if event.choices]
        parts = [delta[0].function for delta in deltas if delta]
        assert parts[0].name == "weather"
        assert "".join(part.arguments or "" for part in parts) == ARGUMENTS


async def test_legacy_completions(clients: Clients) -> None:
    calls = clients.openai.completions.create, clients.async_openai.completions.create
    for answer in await every(*calls, model="gpt-4o", prompt="The sea is"):
        assert answer.choices[0].text == SAID
    for events in await streamed(*calls, model="gpt-4o", prompt="The sea is"):
        assert "".join(event.choices[0].text for event in events if event.choices) == SAID


async def test_responses(clients: Clients) -> None:
    calls = clients.openai.responses.create, clients.async_openai.responses.create
    for answer in await every(*calls, model="gpt-4o", input="How is the sea?"):
        assert (answer.output_text, answer.status) == (SAID, "completed")
    for events in await streamed(*calls, model="gpt-4o", input="How is the sea?"):
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        assert events[-1].response.output_text == SAID
    for answer in await every(
        *calls, model="gpt-4o", input="How is the sea?", tools=[RESPONSES_TOOL], tool_choice="required"
    ):
        assert [(item.name, item.arguments) for item in answer.output] == [("weather", ARGUMENTS)]


async def test_embeddings(clients: Clients) -> None:
    calls = clients.openai.embeddings.create, clients.async_openai.embeddings.create
    for answer in await every(*calls, model="text-embedding-3-small", input=["a", "b"], dimensions=16):
        assert [len(item.embedding) for item in answer.data] == [16, 16]


async def test_models(clients: Clients) -> None:
    openai, anthropic = clients.openai.models, clients.anthropic.models
    names = [model.id for model in openai.list()]
    assert names == [model.id for model in anthropic.list()]
    assert names == [model.id async for model in clients.async_openai.models.list()]
    assert names == [model.id async for model in clients.async_anthropic.models.list()]
    for found in await every(openai.retrieve, clients.async_openai.models.retrieve, model=names[0]):
        assert found.id == names[0]
    for found in await every(anthropic.retrieve, clients.async_anthropic.models.retrieve, model_id=names[0]):
        assert found.id == names[0]


async def test_messages(clients: Clients) -> None:
    calls = clients.anthropic.messages.create, clients.async_anthropic.messages.create
    asked = {"model": "claude-sonnet-5-5", "max_tokens": 64, "messages": ASKED}
    for answer in await every(*calls, **asked):
        assert (answer.content[0].text, answer.stop_reason) == (SAID, "end_turn")
        assert answer.usage.output_tokens == 8
    for events in await streamed(*calls, **asked):
        kinds = [event.type for event in events]
        assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
        assert kinds.count("content_block_delta") == 8
    with clients.anthropic.messages.stream(**asked) as stream:
        assert stream.get_final_text() == SAID
    async with clients.async_anthropic.messages.stream(**asked) as stream:
        assert await stream.get_final_text() == SAID


async def test_messages_that_use_a_tool(clients: Clients) -> None:
    calls = clients.anthropic.messages.create, clients.async_anthropic.messages.create
    wanted = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 64,
        "messages": ASKED,
        "tools": [MESSAGES_TOOL],
        "tool_choice": {"type": "any"},
    }
    for answer in await every(*calls, **wanted):
        assert (answer.content[0].name, answer.content[0].input) == ("weather", {"place": "steady as she goes"})
        assert answer.stop_reason == "tool_use"
    with clients.anthropic.messages.stream(**wanted) as stream:
        assert stream.get_final_message().content[0].input == {"place": "steady as she goes"}


async def test_counting_tokens(clients: Clients) -> None:
    calls = clients.anthropic.messages.count_tokens, clients.async_anthropic.messages.count_tokens
    counted = await every(*calls, model="claude-sonnet-5-5", messages=ASKED)
    said = clients.anthropic.messages.create(model="claude-sonnet-5-5", max_tokens=1, messages=ASKED)
    assert {answer.input_tokens for answer in counted} == {said.usage.input_tokens}


async def test_errors_are_those_that_the_clients_know(url: str) -> None:
    openai, anthropic = (importlib.import_module(name) for name in ("openai", "anthropic"))
    asked = {"model": "gpt-4o", "messages": ASKED}
    spent, gone, good = Clients(url, "sk-spent"), Clients(url, "sk-gone"), Clients(url)
    spent.openai.chat.completions.create(**asked)
    with pytest.raises(openai.RateLimitError) as limited:
        await spent.async_openai.chat.completions.create(**asked)
    assert limited.value.code == "rate_limit_exceeded"
    assert 0 < int(limited.value.response.headers["retry-after-ms"]) <= 60_000
    with pytest.raises(anthropic.RateLimitError):
        await spent.async_anthropic.messages.create(**asked, max_tokens=4)
    for call, error in (
        (gone.openai.chat.completions.create, openai.AuthenticationError),
        (gone.anthropic.messages.create, anthropic.AuthenticationError),
    ):
        with pytest.raises(error):
            call(**asked, max_tokens=4)
    for call, error in (
        (good.openai.chat.completions.create, openai.BadRequestError),
        (good.anthropic.messages.create, anthropic.BadRequestError),
    ):
        with pytest.raises(error):
            call(model="gpt-4o", messages=[{"role": "absent", "content": "x"}], max_tokens=4)
    overloaded = {"x-mock-fault": "status=529"}
    with pytest.raises(anthropic.InternalServerError) as struck:
        good.anthropic.messages.create(**asked, max_tokens=4, extra_headers=overloaded)
    assert struck.value.body["error"]["type"] == "overloaded_error"
    for opened in (spent, gone, good):
        await opened.close()


async def test_an_error_in_the_middle_of_a_stream(clients: Clients) -> None:
    openai, anthropic = (importlib.import_module(name) for name in ("openai", "anthropic"))
    struck: dict[str, Any] = {"stream": True, "extra_headers": {"x-mock-fault": "error_event=3"}}
    seen = []
    with pytest.raises(openai.APIError, match="had an error"):
        seen.extend(clients.openai.chat.completions.create(model="gpt-4o", messages=ASKED, **struck))
    assert len(seen) == 4  # one of them names the role
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        list(clients.anthropic.messages.create(model="claude-sonnet-5-5", max_tokens=8, messages=ASKED, **struck))
    *_, told = clients.openai.responses.create(model="gpt-4o", input="x", **struck)
    assert (told.type, told.sequence_number) == ("error", 7)
