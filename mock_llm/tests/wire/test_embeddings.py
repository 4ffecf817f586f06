from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import openai
import orjson
import pytest

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import compose, embeddings

if TYPE_CHECKING:
    from conftest import Provider, Strict


@pytest.mark.parametrize("dimensions", [None, 8, 13, 3072])
def test_both_formats_say_the_same(
    openai_client: openai.OpenAI, provider: Provider, strict: type[Strict], dimensions: int | None
) -> None:
    options: Any = {} if dimensions is None else {"dimensions": dimensions}
    asked: dict[str, Any] = {"model": "keel-1", "input": ["even", "kéel"], **options}
    decimal = openai_client.embeddings.create(**asked, encoding_format="float")
    assert decimal == strict.read(openai.types.CreateEmbeddingResponse, provider.written[0])
    default = openai_client.embeddings.create(**asked)  # which asks for base64, and decodes it
    assert b'"embedding":"' in provider.written[1]
    assert [list(one.embedding) for one in default.data] == [one.embedding for one in decimal.data]
    assert [one.index for one in decimal.data] == [0, 1]
    first, second = (one.embedding for one in decimal.data)
    assert len(first) == len(second) == (dimensions or 1536)
    assert math.isclose(math.hypot(*first), 1, rel_tol=1e-6)
    assert first != second
    assert decimal.usage.prompt_tokens == decimal.usage.total_tokens == 3


async def test_asynchronously(async_openai_client: openai.AsyncOpenAI) -> None:
    said = await async_openai_client.embeddings.create(model="keel-1", input="even")
    assert len(said.data[0].embedding) == 1536


def test_base64_that_is_asked_for_stays(openai_client: openai.OpenAI) -> None:
    said = openai_client.embeddings.create(model="keel-1", input="even", encoding_format="base64")
    assert isinstance(said.data[0].embedding, str)


def test_different_texts_are_nearly_orthogonal(openai_client: openai.OpenAI) -> None:
    texts = [f"text {number}" for number in range(10)]
    vectors = [one.embedding for one in openai_client.embeddings.create(model="m", input=texts).data]
    for n, one in enumerate(vectors):
        for other in vectors[:n]:
            assert (
                abs(math.sumprod(one, other) if hasattr(math, "sumprod") else sum(map(float.__mul__, one, other))) < 0.2
            )


def test_nothing_is_completed() -> None:
    request = embeddings.parse(b'{"model":"m","input":"even"}')
    answer = compose(request, b"1", 1, 50)
    assert answer.completion_tokens == 0
    assert embeddings.response_body(request, answer) == embeddings.response_body(request)


@pytest.mark.parametrize(("given", "count"), [([1, 2, 3], 3), ([[1, 2], [3]], 3), (["abcd", "efgh"], 2), ("abcde", 2)])
def test_an_input_may_be_tokens(given: Any, count: int) -> None:
    assert embeddings.parse(orjson.dumps({"model": "m", "input": given})).prompt_tokens == count


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a", ""]}, "input"),
        ({"input": ["a", 1]}, "input"),
        ({"input": [[]]}, "input"),
        ({"input": {"a": 1}}, "input"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": 9999}, "dimensions"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
    ],
)
def test_a_bad_request_says_what_is_wrong(fields: Any, param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        embeddings.parse(orjson.dumps({"model": "m"} | fields))
    assert refused.value.param == param
