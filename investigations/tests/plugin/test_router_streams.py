"""Streams, and requests that are cancelled, in a real router of the installed LiteLLM."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation import attempts

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Rig

# LiteLLM warns of its own types, once for each.
pytestmark = pytest.mark.filterwarnings("ignore")


async def test_a_stream_is_settled_by_what_it_used(rig: Rig, eventually: Callable) -> None:
    rig.start([rig.deployment("a", limits={"tpm": 10_000})])
    stream = await rig.ask(stream=True, stream_options={"include_usage": True})
    assert rig.under_way() == 1
    usage = [chunk.usage async for chunk in stream if getattr(chunk, "usage", None)][-1]
    await eventually(lambda: rig.under_way() == 0)
    window = rig.account_router.pool.deployments["a", "openai/gpt-4o-mini"].account.windows[0]
    assert 10_000 - window.available(rig.account_router.pool.now()) == usage.total_tokens
    assert rig.account_router.attempts.streams == 0


async def test_a_stream_that_breaks_off_is_a_failure_of_its_account(rig: Rig, eventually: Callable) -> None:
    rig.start([rig.deployment("a")], num_retries=0)
    await rig.fails(a="reset=2")
    stream = await rig.ask(stream=True)
    with pytest.raises(Exception, match=r".*"):
        _ = [chunk async for chunk in stream]
    await eventually(lambda: rig.under_way() == 0)
    place = rig.account_router.pool.deployments["a", "openai/gpt-4o-mini"]
    assert place.account.cooldown.failures + place.model.cooldown.failures == 1
    assert rig.errors == {}


async def test_a_stream_that_nobody_reads_is_given_back(
    rig: Rig, eventually: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "STREAM_EVENT_GRACE_SECONDS", 0.01)
    rig.start([rig.deployment("a")])
    stream = await rig.ask(stream=True)
    await stream.aclose()
    del stream
    gc.collect()
    await eventually(lambda: rig.under_way() == 0)


async def test_a_request_that_is_cancelled_is_given_back(rig: Rig, eventually: Callable) -> None:
    rig.start([rig.deployment("a")])
    await rig.fails(a="hang")
    asking = asyncio.create_task(rig.ask())
    await eventually(lambda: rig.under_way() == 1)
    request = next(task for task in asyncio.all_tasks() if "acompletion" in repr(task.get_coro()))
    request.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert rig.under_way() == 0


async def test_a_stream_that_breaks_before_its_first_chunk_is_taken_up_elsewhere(
    rig: Rig, eventually: Callable
) -> None:
    rig.start(
        [rig.deployment("a"), rig.deployment("b", group="spare")], num_retries=0, fallbacks=[{"gpt-4o-mini": ["spare"]}]
    )
    await rig.fails(a="reset=0")
    call_id = "broken"

    async def reading() -> bytes:
        stream = await rig.ask(stream=True, litellm_call_id=call_id)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
        return text.encode()

    assert await asyncio.create_task(reading())
    assert await rig.asked() == {"a": 1, "b": 1}
    await eventually(lambda: rig.under_way() == 0)
    assert rig.errors == {}


async def test_clients_that_choose_the_same_call_id_are_not_taken_for_each_other(
    rig: Rig, eventually: Callable
) -> None:
    rig.start([rig.deployment(name) for name in "ab"], num_retries=0, rotation={"strategy": "round_robin"})
    await rig.fails(b="reset=2")
    # Each is a session of its own.
    sessions = [[{"role": "user", "content": name}] for name in ("ahoy", "avast")]
    streams = [
        await rig.ask(**rig.logged(stream=True, litellm_call_id="chosen by a client", messages=session))
        for session in sessions
    ]
    by_account = {stream._hidden_params["model_id"]: stream for stream in streams}
    assert set(by_account) == {"a", "b"}
    with pytest.raises(Exception, match=r".*"):
        _ = [chunk async for chunk in by_account["b"]]
    await eventually(lambda: rig.under_way() == 1)
    sides = rig.account_router.pool.scopes
    assert [sides[name, None].in_flight for name in "ab"] == [1, 0]
    assert [sides[name, "openai/gpt-4o-mini"].cooldown.failures for name in "ab"] == [0, 1]
    _ = [chunk async for chunk in by_account["a"]]
    await eventually(lambda: rig.under_way() == 0)
    assert rig.errors == {}


async def test_what_broke_is_not_tried_again_by_who_takes_it_up(rig: Rig, eventually: Callable) -> None:
    rig.start(
        [rig.deployment("a"), rig.deployment("a", group="spare"), rig.deployment("b", group="spare")],
        num_retries=0,
        fallbacks=[{"gpt-4o-mini": ["spare"]}],
    )
    rig.router.model_list[1]["model_info"]["id"] = "a"
    await rig.fails(a="reset=0")

    async def reading() -> int:
        stream = await rig.ask(**rig.logged(stream=True))
        return len([chunk async for chunk in stream])

    assert await asyncio.create_task(reading())
    assert await rig.asked() == {"a": 1, "b": 1}
    await eventually(lambda: rig.under_way() == 0)
    assert rig.errors == {}


async def test_limits_are_learned_when_a_stream_begins(rig: Rig, eventually: Callable) -> None:
    rig.start([rig.deployment("a")])
    stream = await rig.ask(**rig.logged(stream=True))
    place = rig.account_router.pool.deployments["a", "openai/gpt-4o-mini"]
    window = next(window for window in place.model.windows if window.limit.amount == 1000)
    assert window.available(rig.account_router.pool.now()) == 999
    _ = [chunk async for chunk in stream]
    await eventually(lambda: rig.under_way() == 0)
    assert window.available(rig.account_router.pool.now()) == 999
