from __future__ import annotations

from typing import TYPE_CHECKING

import anthropic
import openai
import pytest

from evenkeel_mock.wire import models

if TYPE_CHECKING:
    from conftest import Provider, Strict


def test_openai_lists_them(openai_client: openai.OpenAI) -> None:
    assert [model.id for model in openai_client.models.list()] == ["keel-1", "keel/2"]


def test_openai_retrieves_one(openai_client: openai.OpenAI, provider: Provider, strict: type[Strict]) -> None:
    found = openai_client.models.retrieve("keel-1")
    assert found == strict.read(openai.types.Model, provider.written[0])
    with pytest.raises(openai.NotFoundError) as refused:
        openai_client.models.retrieve("absent")
    assert refused.value.code == "model_not_found"


async def test_asynchronously(
    async_openai_client: openai.AsyncOpenAI, async_anthropic_client: anthropic.AsyncAnthropic
) -> None:
    assert [model.id async for model in async_openai_client.models.list()] == ["keel-1", "keel/2"]
    assert [model.id async for model in async_anthropic_client.models.list()] == ["keel-1", "keel/2"]


def test_anthropic_lists_them(anthropic_client: anthropic.Anthropic) -> None:
    assert [model.id for model in anthropic_client.models.list()] == ["keel-1", "keel/2"]


def test_anthropic_retrieves_one(
    anthropic_client: anthropic.Anthropic, provider: Provider, strict: type[Strict]
) -> None:
    found = anthropic_client.models.retrieve("keel-1")
    assert found == strict.read(anthropic.types.ModelInfo, provider.written[0])
    with pytest.raises(anthropic.NotFoundError):
        anthropic_client.models.retrieve("absent")


def test_no_models_are_a_list_too() -> None:
    assert b'"data":[]' in models.anthropic_list([], 0)
