"""Real tasks, as LiteLLM makes them."""

from __future__ import annotations

import asyncio
import copy
import gc
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation import attempts as module
from litellm_evenkeel.rotation.attempts import Attempt, AttemptTracker, ClientRequest, RetryState
from litellm_evenkeel.rotation.model.request import PickRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from conftest import World

    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.attempts import RequestAttempts

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
ANSWER = SimpleNamespace(usage=USAGE, _hidden_params={"additional_headers": {"a": "b"}})


class Stream:
    def __aiter__(self) -> Stream:
        return self


class Rig:
    """Attempts, and the events of their ends."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.candidates = world.group(world.seat("a"), world.seat("b"))
        self.errors: list[str] = []
        self.attempts = AttemptTracker(self, lambda where, _: self.errors.append(where))
        self.client_request = ClientRequest()
        self.ends: list[tuple[str, Attempt]] = []
        self.answers: list[ResponseUsage] = []
        self.began: list[Mapping[str, str] | None] = []
        self.metadata = {"attempted_retries": 0}

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        self.ends.append(("answered", attempt))
        self.answers.append(usage)

    def on_stream_start(self, attempt: Attempt, headers: Mapping[str, str] | None) -> None:
        self.began.append(headers)

    def on_lost(self, attempt: Attempt) -> None:
        self.ends.append(("vanished", attempt))

    def on_unused(self, attempt: Attempt) -> None:
        self.ends.append(("unused", attempt))

    def release(self, attempt: Attempt) -> None:
        self.ends.append(("gave up", attempt))

    def begin(
        self, client_request: ClientRequest | None = None, prefer: str | None = None, *, is_retry: bool = True
    ) -> RequestAttempts:
        """Do what the router does at a pick. `is_retry` is whether LiteLLM counts another retry for it."""
        client_request = client_request or self.client_request
        self.metadata["attempted_retries"] += is_retry
        attempts, state = self.attempts.attempts_of(client_request), RetryState.of({"metadata": self.metadata})
        self.attempts.end_current(attempts, state)
        pick = self.world.pick(self.candidates, PickRequest(preferred_account=prefer))
        attempts.current = Attempt(pick, "g", client_request, retry_state=state)
        return attempts

    async def request(
        self, result: object, client_request: ClientRequest | None = None, prefer: str | None = None
    ) -> object:
        self.begin(client_request, prefer)
        await asyncio.sleep(0)
        if isinstance(result, BaseException):
            raise result
        return result

    @property
    def told(self) -> list[str]:
        return [what for what, _ in self.ends]


@pytest.fixture
def rig(world: World) -> Rig:
    return Rig(world)


async def run(coroutine: Coroutine) -> object:
    """Run it in a task of its own, and let its callbacks be done."""
    (found,) = await asyncio.gather(asyncio.create_task(coroutine), return_exceptions=True)
    await asyncio.sleep(0)
    return found


async def test_an_answer_ends_it(rig: Rig) -> None:
    await run(rig.request(ANSWER))
    assert rig.told == ["answered"]
    assert rig.answers[0].total_tokens == 7
    assert rig.answers[0].headers == {"a": "b"}


@pytest.mark.parametrize("chunk", [b"data: x", "data: x", None])
async def test_a_task_that_ends_with_no_answer_tells_nothing(rig: Rig, chunk: object) -> None:
    await run(rig.request(chunk))
    assert rig.told == ["vanished"]


async def test_an_error_of_which_no_hook_tells_ends_it(rig: Rig) -> None:
    await run(rig.request(ValueError("x")))
    assert rig.told == ["vanished"]


async def test_who_is_cancelled_gives_it_back(rig: Rig) -> None:
    async def hanging() -> None:
        rig.begin()
        await asyncio.Event().wait()

    task = asyncio.create_task(hanging())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0)
    assert rig.told == ["vanished"]


async def test_a_pick_that_no_request_follows_is_withdrawn(rig: Rig) -> None:
    async def selecting() -> object:
        for number in range(3):
            attempts = rig.begin(is_retry=number == 0)
            attempts.request.record_pick("a", "strategy")
        assert attempts.excluded == frozenset()
        assert attempts.request.picked.attempt == 1
        return ANSWER

    await run(selecting())
    assert rig.told == ["unused", "unused", "answered"]


async def test_a_task_that_only_looks_for_a_deployment_makes_no_attempt(rig: Rig) -> None:
    await run(rig.request(result=True))
    assert rig.told == ["unused"]
    # A guardrail of its own sends a request, and returns a verdict.
    await run(rig.request(result=True, client_request=ClientRequest("guardrail")))
    assert rig.told == ["unused", "answered"]


@pytest.mark.parametrize(
    "later",
    [
        {"metadata": {"attempted_retries": 1}},
        {"metadata": {"previous_models": ("a",)}},
        {"metadata": {}, "fallback_depth": 1},
        {},
    ],
)
def test_a_retry_or_a_fallback_is_another_state(later: dict[str, object]) -> None:
    metadata: dict[str, object] = {"attempted_retries": 0, "previous_models": ()}
    state = RetryState.of({"metadata": metadata})
    assert state is not None
    assert state.is_unchanged(RetryState.of({"metadata": metadata}))
    # LiteLLM copies the metadata for a fallback.
    assert not state.is_unchanged(RetryState.of({"metadata": dict(metadata)}))
    metadata.update(later.get("metadata") or {})  # type: ignore[call-overload]
    assert not state.is_unchanged(RetryState.of({**later, "metadata": metadata} if later else {}))


async def test_the_failure_hook_ends_it_once(rig: Rig) -> None:
    found: list[Attempt | None] = []

    async def failing() -> None:
        attempts = rig.begin()
        found.append(rig.attempts.failed("elsewhere"))
        found.append(rig.attempts.failed(attempts.current.deployment))
        found.append(rig.attempts.failed(found[1].deployment))
        raise ValueError

    await run(failing())
    assert found[0] is None
    assert found[1] is not None
    assert found[2] is None
    assert rig.told == []


async def test_a_failure_in_another_task_is_not_ours(rig: Rig) -> None:
    async def request() -> object:
        attempts = rig.begin()
        rig.found = await asyncio.create_task(elsewhere(attempts.current.deployment))
        return ANSWER

    async def elsewhere(deployment: str) -> Attempt | None:
        return rig.attempts.failed(deployment)

    await run(request())
    assert rig.found is None
    assert rig.told == ["answered"]


async def test_the_next_choice_ends_the_one_before(rig: Rig) -> None:
    async def retried() -> object:
        first = rig.begin().current
        again = rig.begin()
        assert again.excluded == {first.deployment}
        rig.attempts.failed(again.current.deployment)
        rig.begin()
        return ANSWER

    await run(retried())
    assert rig.told == ["vanished", "answered"]


async def test_another_request_in_the_same_task_has_tried_nothing(rig: Rig) -> None:
    async def two() -> object:
        first = rig.begin(ClientRequest())
        second = rig.begin(ClientRequest())
        assert second.excluded == set()
        assert second is not first
        return ANSWER

    await run(two())
    assert rig.told == ["vanished", "answered"]


async def test_a_stream_lasts_until_its_event(rig: Rig) -> None:
    stream = await run(rig.request(Stream()))
    assert (rig.told, rig.attempts.streams) == ([], 1)
    assert rig.attempts.stream_ended(ClientRequest(), None) is None
    assert rig.attempts.stream_ended(rig.client_request, "elsewhere") is None
    ended = rig.attempts.stream_ended(rig.client_request, None)
    assert ended is not None
    assert rig.attempts.stream_ended(rig.client_request, None) is None
    assert rig.attempts.streams == 0
    del stream


async def test_a_stream_that_is_let_go_without_an_event_is_over(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAM_EVENT_GRACE_SECONDS", 0.01)
    stream = await run(rig.request(Stream()))
    await asyncio.sleep(0.03)
    assert rig.told == []
    del stream
    gc.collect()
    await eventually(lambda: rig.told)
    assert rig.told == ["vanished"]
    assert rig.attempts.streams == 0


async def test_an_event_after_it_was_let_go_is_the_one_that_counts(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAM_EVENT_GRACE_SECONDS", 0.02)
    stream = await run(rig.request(Stream()))
    del stream
    gc.collect()
    assert rig.attempts.stream_ended(rig.client_request, None) is not None
    await asyncio.sleep(0.05)
    assert rig.told == []


async def test_a_stream_may_be_let_go_in_another_thread(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAM_EVENT_GRACE_SECONDS", 0.0)
    held = [await run(rig.request(Stream()))]
    await asyncio.to_thread(held.clear)
    gc.collect()
    await eventually(lambda: rig.told)
    assert rig.told == ["vanished"]


async def test_a_stream_that_takes_no_weak_references_ends_by_its_event(rig: Rig) -> None:
    class Slotted:
        __slots__ = ("__aiter__",)

        def __init__(self) -> None:
            self.__aiter__ = None

    await run(rig.request(Slotted()))
    assert rig.attempts.stream_ended(rig.client_request, None) is not None


async def test_a_batch_under_one_call_id_is_several_requests(rig: Rig) -> None:
    streams = await asyncio.gather(
        asyncio.create_task(rig.request(Stream(), prefer="a")),
        asyncio.create_task(rig.request(Stream(), prefer="b")),
        asyncio.create_task(rig.request(ANSWER)),
    )
    await asyncio.sleep(0)
    assert rig.told == ["answered"]
    assert rig.attempts.streams == 2
    for name in ("b", "a"):
        ended = rig.attempts.stream_ended(rig.client_request, name)
        assert ended is not None
        assert ended.deployment == name
    del streams


@pytest.mark.parametrize("is_told_first", [True, False])
async def test_a_stream_that_broke_is_taken_up_elsewhere(rig: Rig, *, is_told_first: bool) -> None:
    stream = await run(rig.request(Stream(), prefer="a"))
    ended = rig.attempts.stream_broke(rig.client_request) if is_told_first else None

    async def again() -> object:
        taken_up = rig.begin(prefer="b")
        assert taken_up.excluded == {"a"}
        return b"data: the rest"

    await run(again())
    assert rig.told == ["vanished"]
    ended = ended or rig.attempts.stream_broke(rig.client_request)
    assert ended is not None
    assert ended.deployment == "a"
    assert rig.attempts.stream_broke(rig.client_request) is None
    del stream


def logged(call_id: str) -> dict[str, object]:
    """Return what a proxy hands to the hooks: each request has a logging object of its own."""
    return {"litellm_call_id": call_id, "litellm_logging_obj": SimpleNamespace(model_call_details={})}


async def test_requests_under_one_call_id_know_nothing_of_each_other(rig: Rig) -> None:
    requests = [logged("chosen by a client") for _ in range(2)]
    streams = [
        await run(rig.request(Stream(), ClientRequest.of(request), prefer=name))
        for request, name in zip(requests, "ab", strict=True)
    ]
    for request, name in reversed(list(zip(requests, "ab", strict=True))):
        # Others that log may have been given a copy.
        told = ClientRequest.from_event(copy.deepcopy(dict(request["litellm_logging_obj"].model_call_details)))
        assert told is not None
        ended = rig.attempts.stream_broke(told)
        assert ended is not None
        assert ended.deployment == name
    del streams


async def test_outside_of_a_proxy_a_stream_is_known_by_what_it_logs_with(rig: Rig) -> None:
    stream = Stream()
    stream.logging_obj = SimpleNamespace(model_call_details={})
    await run(rig.request(stream, ClientRequest.of({"litellm_call_id": "x"}), prefer="a"))
    told = ClientRequest.from_event(stream.logging_obj.model_call_details)
    assert told is not None
    assert rig.attempts.stream_ended(told, "a") is not None


def test_what_somebody_else_has_left_there_is_no_call() -> None:
    assert ClientRequest.from_event({}) is None
    assert ClientRequest.from_event({"evenkeel_call": "a client's"}) is None


async def test_a_stream_tells_of_limits_at_its_beginning(rig: Rig) -> None:
    stream = Stream()
    stream._hidden_params = {"additional_headers": {"a": "b"}}
    await run(rig.request(stream))
    assert rig.began == [{"a": "b"}]


async def test_an_error_at_the_end_is_told_and_gives_it_back(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError

    for name in ("on_success", "on_lost"):
        monkeypatch.setattr(rig, name, failing)
    monkeypatch.setattr(module, "STREAM_EVENT_GRACE_SECONDS", 0.0)
    await run(rig.request(ANSWER))
    await run(rig.request(None))
    assert (rig.errors, rig.told) == (["learning from an end"] * 2, ["gave up"] * 2)
    stream = await run(rig.request(Stream()))
    del stream
    gc.collect()
    await eventually(lambda: len(rig.told) == 3)
    assert rig.attempts.streams == 0


async def test_an_error_at_the_beginning_of_a_stream_does_not_end_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(rig, "on_stream_start", failing)
    stream = await run(rig.request(Stream()))
    assert (rig.errors, rig.told, rig.attempts.streams) == (["learning from an end"], [], 1)
    assert rig.attempts.stream_ended(rig.client_request, None) is not None
    del stream


async def test_streams_that_never_end_are_forgotten_in_the_end(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STREAMS", 2)
    calls = [ClientRequest() for _ in range(4)]
    streams = [await run(rig.request(Stream(), client_request)) for client_request in calls]
    assert rig.attempts.streams == 2
    assert rig.attempts.stream_ended(calls[0], None) is None
    assert rig.attempts.stream_ended(calls[3], None) is not None
    del streams


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)
