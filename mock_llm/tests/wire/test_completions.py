from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import orjson
import pytest

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import completions

if TYPE_CHECKING:
    from conftest import Provider, Strict

SAID = "steady as she goes on an even keel"


def test_a_whole_answer(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    said = openai_client.completions.create(model="keel-1", prompt="Once upon a time")
    assert said == strict.read(openai.types.Completion, provider.written[0])
    assert (said.id, said.choices[0].text, said.choices[0].finish_reason) == ("cmpl-0a1b2c", SAID, "stop")
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (4, 8)


@pytest.mark.parametrize("include_usage", [True, False])
def test_a_stream(
    openai_client: openai.OpenAI,
    provider: Provider,
    strict: type[Strict],
    include_usage: bool,  # noqa: FBT001
) -> None:
    options: Any = {"stream_options": {"include_usage": True}} if include_usage else {}
    events = list(openai_client.completions.create(model="keel-1", prompt="Once", stream=True, **options))
    # Until the end there is no reason, whatever the client's type says: the real one sends null as well.
    strict.events(
        openai.types.Completion, provider.written[0].replace(b'"finish_reason":null', b'"finish_reason":"stop"')
    )
    assert "".join(event.choices[0].text for event in events if event.choices) == SAID
    assert [event.choices[0].finish_reason for event in events if event.choices] == [None] * 8 + ["stop"]
    assert (events[-1].usage is not None) is include_usage


async def test_asynchronously(async_openai_client: openai.AsyncOpenAI) -> None:
    stream = await async_openai_client.completions.create(model="keel-1", prompt="Once", stream=True)
    assert "".join([event.choices[0].text async for event in stream]) == SAID


def test_an_answer_is_short_unless_a_length_is_given(openai_client: openai.OpenAI, provider: Provider) -> None:
    provider.length = 100
    said = openai_client.completions.create(model="keel-1", prompt="Once")
    assert (said.usage.completion_tokens, said.choices[0].finish_reason) == (16, "length")
    said = openai_client.completions.create(model="keel-1", prompt="Once", max_tokens=100)
    assert (said.usage.completion_tokens, said.choices[0].finish_reason) == (100, "stop")


@pytest.mark.parametrize("stream", [True, False])
def test_several_prompts_said_again(openai_client: openai.OpenAI, stream: bool) -> None:  # noqa: FBT001
    asked: dict[str, Any] = {"model": "keel-1", "prompt": ['a"', "b"], "n": 2, "echo": True, "max_tokens": 2}
    texts = dict.fromkeys(range(4), "")
    for event in (
        openai_client.completions.create(**asked, stream=True)
        if stream
        else [openai_client.completions.create(**asked)]
    ):
        for choice in event.choices:
            texts[choice.index] += choice.text
    assert list(texts.values()) == ['a"steady as', 'a"steady as', "bsteady as", "bsteady as"]


@pytest.mark.parametrize(("prompt", "count"), [([1, 2, 3], 3), ([[1, 2], [3]], 3), (["abcd", "efgh"], 2), ("", 1)])
def test_a_prompt_may_be_tokens(prompt: Any, count: int) -> None:
    assert completions.parse(orjson.dumps({"model": "m", "prompt": prompt})).prompt_tokens == count


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt"),
        ({"prompt": {}}, "prompt"),
        ({"prompt": "a", "max_tokens": -1}, "max_tokens"),
        ({"prompt": "a", "n": 0}, "n"),
        ({"prompt": "a", "echo": 1}, "echo"),
    ],
)
def test_a_bad_request_says_what_is_wrong(fields: Any, param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        completions.parse(orjson.dumps({"model": "m"} | fields))
    assert refused.value.param == param
