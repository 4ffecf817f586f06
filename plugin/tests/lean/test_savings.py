"""Savings in the daily rows of a request, through LiteLLM's own code."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from litellm.proxy import utils
from litellm.proxy.db import db_spend_update_writer
from litellm.proxy.db.db_spend_update_writer import DBSpendUpdateWriter

from litellm_evenkeel.lean.savings import compute_savings_once, status_of_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = ("user", "team", "end_user", "request_tags")


class Database:
    """LiteLLM's database client, as far as daily rows use it."""

    def get_request_status(self, _payload: object) -> str:
        return "success"


def payload(cached: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": cached}}
    return {
        "startTime": "2026-11-28T12:00:00",
        "endTime": "2026-11-28T12:00:01",
        "api_key": "hashed",
        "user": "ann",
        "team_id": "blue",
        "end_user": "customer",
        "end_user_id": "customer",
        "request_tags": json.dumps(["red", "green"]),
        "model": "gpt-4o",
        "model_group": "gpt-4o",
        "model_id": "one",
        "custom_llm_provider": "openai",
        "call_type": "acompletion",
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "spend": 0.01,
        "metadata": json.dumps({"usage_object": usage}),
    }


async def rows(cached: int) -> list[Any]:
    """Return the daily rows of one request."""
    writer, request, database = DBSpendUpdateWriter(), payload(cached), Database()
    return [
        await writer._common_add_spend_log_transaction_to_daily_transaction(request, database, row)  # type: ignore[arg-type]
        for row in ROWS
    ]


async def requests() -> list[list[Any]]:
    """Return the rows of requests that are written at the same time, and of two in one task."""
    tasks = [asyncio.create_task(rows(cached)) for cached in (0, 64)]
    return [*[await task for task in tasks], await rows(0), await rows(64)]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list with the arguments of each computation."""
    original: Callable[..., Any] = db_spend_update_writer.compute_savings_spend
    computed: list[Any] = []

    def compute(**arguments: Any) -> Any:
        computed.append(arguments)
        return original(**arguments)

    monkeypatch.setattr(db_spend_update_writer, "compute_savings_spend", compute)
    return computed


def test_rows_are_those_of_litellm_and_savings_are_computed_once_for_each_request(
    computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = asyncio.run(requests())
    assert all(row is not None for request in stock for row in request)
    assert stock[0] != stock[1]
    assert len(computed) == len(stock) * len(ROWS)
    computed.clear()
    monkeypatch.setattr(utils.PrismaClient, "get_request_status", utils.PrismaClient.get_request_status)
    compute_savings_once()
    assert asyncio.run(requests()) == stock
    assert len(computed) == len(stock)


PAYLOADS: list[Any] = [
    {"metadata": json.dumps({"status": "failure"})},
    {"metadata": json.dumps({"status": "success"})},
    {"metadata": {"status": "failure"}},
    {"metadata": "no JSON"},
    {"metadata": "[]"},
    {},
    None,
]


def test_the_status_is_that_of_litellm_and_metadata_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    original = utils.PrismaClient.get_request_status
    status, client = status_of_metadata(original), utils.PrismaClient.__new__(utils.PrismaClient)
    for payload in (*PAYLOADS, *reversed(PAYLOADS)):
        expected = original(client, payload)
        assert [status(client, payload) for _ in range(3)] == [expected] * 3
    status(client, PAYLOADS[0])
    monkeypatch.setattr(utils.json, "loads", lambda _: pytest.fail("the metadata was parsed again"))
    assert status(client, dict(PAYLOADS[0])) == "failure"
