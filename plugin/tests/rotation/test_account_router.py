"""A request's way through the rotation, without LiteLLM."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.response_usage import parse_usage
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.attempts import ClientRequest
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Traffic
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state.cooldown import ESTIMATE_PROBE_PAUSE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conftest import World

    from litellm_evenkeel.rotation.attempts import Attempt

BUSY = Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, 5.0, "busy")
ANSWER = SimpleNamespace(usage={"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}, _hidden_params={})
CACHED = SimpleNamespace(usage=ANSWER.usage, _hidden_params={"cache_hit": True})


class Watcher(Observer):
    def __init__(self) -> None:
        self.told: list[str] = []
        self.meant: list[FailureKind] = []
        self.waits: list[float] = []

    def on_session_wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def on_rejection(self, model_group: str, no_capacity: NoCapacity) -> None:
        self.told.append("refused")

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        self.told.append(f"failed at {attempt.deployment}")
        self.meant.append(failure.kind)

    def on_queued(self, seconds: float, *, is_served: bool) -> None:
        self.told.append("served" if is_served else "not served")


class Rig:
    def __init__(
        self, world: World | SimpleNamespace, *, limits: dict[str, object] | None = None, **terms: object
    ) -> None:
        self.watcher = Watcher()
        self.router = AccountRouter(
            RotationSettings(**terms),
            clock=world.clock,
            random=random.Random(3).random,
            spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
            observer=self.watcher,
        )
        self.deployments = [self.deployment(name, limits) for name in "abc"]
        self.calls = 0

    @staticmethod
    def deployment(name: str, limits: dict[str, object] | None = None) -> dict[str, object]:
        return {"litellm_params": {"model": "m"}, "model_info": {"id": name, "account": name, "limits": limits}}

    async def request(
        self, then: Callable[[Pick | NoCapacity], Awaitable[object]], **request: object
    ) -> tuple[Pick | NoCapacity, object]:
        """Make a request in a task of its own, and return what was chosen and what came of it."""
        self.calls += 1
        asked = {"litellm_call_id": str(self.calls), **request}

        async def run() -> object:
            found.append(await self.router.pick("g", list(self.deployments), None, asked))
            return await then(found[0])

        found: list[Pick | NoCapacity] = []
        (result,) = await asyncio.gather(asyncio.create_task(run()), return_exceptions=True)
        await asyncio.sleep(0)
        return found[0], result

    def left(self, name: str) -> float:
        pool = self.router.pool
        return pool.scopes[name, None].windows[0].available(pool.now())

    @property
    def under_way(self) -> int:
        return sum(deployment.in_flight for deployment in self.router.pool.deployments.values())


async def answered(_: object) -> object:
    return ANSWER


async def test_an_answer_is_settled_by_what_it_used(world: World) -> None:
    rig = Rig(world, limits={"tpm": 1000})
    pick, _ = await rig.request(answered)
    assert rig.left(pick.deployment.spec.account) == 900
    assert rig.under_way == 0


async def test_an_answer_from_litellms_cache_used_nothing(world: World) -> None:
    rig = Rig(world, limits={"tpm": 1000, "rpm": 10})

    async def cached(_: object) -> object:
        return CACHED

    pick, _ = await rig.request(cached)
    for window in pick.deployment.account.windows:
        assert window.available(world.now) == window.limit.amount


async def test_what_failed_is_not_tried_again_in_the_same_request(world: World) -> None:
    rig = Rig(world, queue_timeout=0.0)
    order: list[str] = []

    async def failing(found: Pick | NoCapacity) -> object:
        for _ in range(3):
            order.append(found.deployment.spec.id)
            rig.router.on_failure(
                order[-1], Failure(FailureKind.TRANSIENT, FailureScope.ACCOUNT_MODEL, None, "x"), None, 0.0
            )
            found = await rig.router.pick("g", list(rig.deployments), None, {"litellm_call_id": "1"})
        return ANSWER

    await rig.request(failing)
    assert sorted(order) == ["a", "b", "c"]
    assert rig.watcher.told == [f"failed at {name}" for name in order]
    assert rig.under_way == 0


async def test_nobody_is_refused_for_longer_than_a_second_after_one_of_many_has_a_new_key(world: World) -> None:
    rig = Rig(world)
    rig.deployments = [rig.deployment(str(number)) for number in range(200)]
    for _ in rig.deployments:
        pick, _ = await rig.request(answered)
        rig.router.pool.fail(pick.reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked"))
    found, _ = await rig.request(answered)
    assert isinstance(found, NoCapacity)
    changed = rig.deployment("150")
    rig.deployments[150] = {**changed, "litellm_params": {"model": "m", "api_key": "new"}}
    world.now += 1.0
    found, _ = await rig.request(answered)
    assert isinstance(found, Pick)
    assert found.deployment.spec.account == "150"


async def test_a_session_stays_where_it_was(world: World) -> None:
    rig = Rig(world)
    first, _ = await rig.request(answered, metadata={"session_id": "s"})
    for _ in range(5):
        again, _ = await rig.request(answered, metadata={"session_id": "s"})
        assert (again.deployment, again.reason) == (first.deployment, PickReason.PINNED)
    others = {(await rig.request(answered, metadata={"session_id": str(each)}))[0].deployment for each in range(30)}
    assert len(others) == 3


async def test_a_session_of_a_dead_account_goes_elsewhere_for_good(world: World) -> None:
    rig = Rig(world)
    request = {"metadata": {"session_id": "s"}}
    dead, _ = await rig.request(answered, **request)

    async def die(found: Pick | NoCapacity) -> object:
        rig.router.on_failure(
            found.deployment.spec.id, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked"), None, 0.0
        )
        raise ValueError

    await rig.request(die, **request)
    other, _ = await rig.request(answered, **request)
    assert other.deployment is not dead.deployment
    rig.router.pool.release_account(dead.deployment.spec.account)
    assert (await rig.request(answered, **request))[0].deployment is other.deployment


LONG, SHORT = "word " * 4_000, "word"
THROTTLED = Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT, 0.1, "slow down")
AT_ONCE = {"cooldown": {"jitter": 0.0}}


def real_time() -> SimpleNamespace:
    """A world whose clock goes on while requests wait."""
    return SimpleNamespace(clock=time.monotonic)


@pytest.mark.parametrize(
    ("failure", "prompt", "settings", "stays"),
    [
        (THROTTLED, LONG, {}, True),
        (THROTTLED, SHORT, {}, False),
        (THROTTLED, LONG, {"affinity": {"prefill_rate": 0}}, False),
        (THROTTLED, LONG, {"queue_timeout": 0.0}, False),
        (dataclasses.replace(THROTTLED, retry_after=60.0), LONG, {}, False),
        (dataclasses.replace(THROTTLED, kind=FailureKind.QUOTA), LONG, {}, False),
        (dataclasses.replace(THROTTLED, kind=FailureKind.OVERLOADED), LONG, {}, False),
    ],
)
async def test_a_request_waits_for_a_short_rate_limit_of_its_sessions_account_if_its_prompt_is_long(
    failure: Failure, prompt: str, settings: dict[str, object], *, stays: bool
) -> None:
    rig = Rig(real_time(), **AT_ONCE | settings)
    request = {"metadata": {"session_id": "s"}, "input": prompt}
    pinned = (await rig.request(answered, **request))[0].deployment

    async def throttled(found: Pick | NoCapacity) -> object:
        rig.router.on_failure(found.deployment.spec.id, failure, None, 0.0)
        again = await rig.router.pick("g", list(rig.deployments), None, {"litellm_call_id": str(rig.calls), **request})
        return ANSWER if again.deployment is pinned else None

    _, result = await rig.request(throttled, **request)
    assert (result is ANSWER) == stays
    assert len(rig.watcher.waits) == stays


async def test_one_request_at_a_time_waits_for_an_account() -> None:
    rig = Rig(real_time(), **AT_ONCE)
    request = {"metadata": {"session_id": "s"}, "input": LONG}
    pinned = (await rig.request(answered, **request))[0].deployment
    assert pinned.account.cooldown.apply_failure(THROTTLED, time.monotonic(), time.monotonic())
    picks = await asyncio.gather(*(rig.request(answered, **request) for _ in range(4)))
    assert [found.deployment is pinned for found, _ in picks].count(True) == 1
    assert len(rig.watcher.waits) == 1


async def test_a_request_does_not_wait_for_an_account_that_failed_it_otherwise() -> None:
    rig = Rig(real_time(), limits={"windows": [{"for": "300ms", "requests": 2}]}, **AT_ONCE)
    request = {"metadata": {"session_id": "s"}, "input": LONG}
    pinned = (await rig.request(answered, **request))[0].deployment

    async def broken(found: Pick | NoCapacity) -> object:
        assert found.deployment is pinned
        failure = Failure(FailureKind.TRANSIENT, FailureScope.ACCOUNT_MODEL, None, "x")
        rig.router.on_failure(found.deployment.spec.id, failure, None, 0.0)
        again = await rig.router.pick("g", list(rig.deployments), None, {"litellm_call_id": str(rig.calls), **request})
        return ANSWER if again.deployment is not pinned else None

    _, result = await rig.request(broken, **request)
    assert result is ANSWER
    assert rig.watcher.waits == []


async def test_a_session_with_a_fallback_account_does_not_wait(world: World) -> None:
    rig = Rig(world)
    request = {"metadata": {"session_id": "s"}, "input": LONG}
    pinned = (await rig.request(answered, **request))[0].deployment
    for retry_after in (30.0, 0.1):
        rig.router.pool.release_account(pinned.spec.account)
        world.now += 2.0
        failure = dataclasses.replace(THROTTLED, retry_after=retry_after)
        assert pinned.account.cooldown.apply_failure(failure, world.now, world.now)
        found, _ = await rig.request(answered, **request)
        assert found.deployment is not pinned
    assert rig.watcher.waits == []


async def test_a_draining_account_serves_a_request_that_continues_its_response(world: World) -> None:
    rig = Rig(world, queue_timeout=0.0)
    del rig.deployments[1:]
    draining = Control(account="a", kind=ControlKind.TRAFFIC, traffic=Traffic.DRAINING)
    rig.router.controls.put(draining)
    assert isinstance((await rig.request(answered))[0], NoCapacity)
    found, _ = await rig.request(answered, previous_response_id="resp_1")
    assert isinstance(found, Pick)


@pytest.mark.parametrize(("keys", "is_dead"), [("xxxxxx", False), ("xyxyxy", True)])
async def test_no_client_alone_takes_an_account_from_all(world: World, keys: str, *, is_dead: bool) -> None:
    rig = Rig(world)
    del rig.deployments[1:]
    forbidden = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "forbidden", is_certain=False)

    async def fail(found: Pick | NoCapacity) -> object:
        assert isinstance(found, Pick)
        rig.router.on_failure(found.deployment.spec.id, forbidden, None, 0.0)
        raise ValueError

    for key in keys:
        world.now += 1
        if rig.router.pool.scopes and rig.router.pool.scopes["a", None].cooldown.kind:
            break
        await rig.request(fail, metadata={"user_api_key": key})
    assert (rig.router.pool.scopes["a", None].cooldown.kind is FailureKind.PERMANENT) == is_dead
    assert (rig.watcher.meant[-1] is FailureKind.PERMANENT) == is_dead


@pytest.mark.parametrize(("wait", "most"), [(5.0, 1), (0.0, 3)])
async def test_who_may_wait_lets_one_go_first_where_only_guesses_hold_all(world: World, wait: float, most: int) -> None:
    rig = Rig(world, queue_timeout=wait)
    del rig.deployments[1:]
    release, under_way = asyncio.Event(), 0

    async def fail(_: object) -> object:
        rig.router.on_failure("a", Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, None, "busy"), None, 0.0)
        raise ValueError

    async def then(_: object) -> object:
        nonlocal under_way
        under_way += 1
        await release.wait()
        return ANSWER

    await rig.request(fail)
    world.now += ESTIMATE_PROBE_PAUSE
    tasks = [asyncio.create_task(rig.request(then)) for _ in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert under_way == most
    release.set()
    assert all(isinstance(found, Pick) for found, _ in await asyncio.gather(*tasks))


async def test_who_comes_later_does_not_go_past_those_who_wait(world: World) -> None:
    rig = Rig(world, limits={"concurrent": 1}, queue_timeout=30.0)
    del rig.deployments[1:]
    release, order = asyncio.Event(), []

    async def first(_: object) -> object:
        await release.wait()
        return ANSWER

    async def then(found: Pick | NoCapacity, name: str) -> object:
        order.append((name, type(found)))
        return ANSWER

    holding = asyncio.create_task(rig.request(first))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting = [
        asyncio.create_task(rig.request(lambda found, name=name: then(found, name), metadata={"user_api_key": name}))
        for name in ("x", "y")
    ]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert rig.router.admission.queue.lengths() == {"g": 2}
    release.set()
    await asyncio.gather(holding, *waiting)
    assert order == [("x", Pick), ("y", Pick)]
    assert rig.watcher.told == ["served", "served"]


async def test_who_would_wait_too_long_is_refused_at_once(world: World) -> None:
    rig = Rig(world, queue_timeout=1.0, limits={"rpm": 1})
    for _ in range(3):
        await rig.request(answered)
    found, _ = await rig.request(answered)
    assert isinstance(found, NoCapacity)
    assert found.available_in > 1.0
    assert rig.watcher.told == ["refused"]


async def test_who_waits_while_the_accounts_change_gets_one_of_the_new(world: World) -> None:
    rig = Rig(world, limits={"concurrent": 1}, queue_timeout=30.0)
    del rig.deployments[1:]
    release = asyncio.Event()

    async def first(_: object) -> object:
        await release.wait()
        return ANSWER

    holding = asyncio.create_task(rig.request(first))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # An operator has changed something of the deployment: the next request has another object in its list.
    rig.deployments = [rig.deployment("a", {"concurrent": 1})]
    waiting = asyncio.create_task(rig.request(answered))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    _, (found, _) = await asyncio.gather(holding, waiting)
    assert isinstance(found, Pick)


@pytest.mark.parametrize("wait", [0.0, 5.0])
async def test_a_request_without_anything_known_of_it_is_chosen_for(world: World, wait: float) -> None:
    rig = Rig(world, queue_timeout=wait)
    async with asyncio.TaskGroup() as tasks:
        found = tasks.create_task(rig.router.pick("g", rig.deployments, None, {}))
    assert isinstance(found.result(), Pick)


class Stream:
    """LiteLLM's result of a stream, with the logging object of the request."""

    def __init__(self, headers: dict[str, str] | None = None) -> None:
        self.logging_obj = SimpleNamespace(model_call_details={})
        self._hidden_params = {"additional_headers": headers}

    def __aiter__(self) -> Stream:
        return self

    @property
    def call(self) -> ClientRequest:
        found = ClientRequest.from_event(self.logging_obj.model_call_details)
        assert found is not None
        return found


async def test_what_a_stream_used_is_known_from_its_event(world: World) -> None:
    stream = Stream()

    async def streaming(_: object) -> object:
        return stream

    rig = Rig(world, limits={"tpm": 1000})
    pick, _ = await rig.request(streaming, stream=True, max_tokens=300, litellm_logging_obj=stream.logging_obj)
    name = pick.deployment.spec.account
    assert rig.left(name) == 700
    rig.router.on_stream_end(stream.call, None, parse_usage(ANSWER.usage))
    assert (rig.left(name), rig.under_way) == (900, 0)
    rig.router.on_stream_failure(stream.call, BUSY, None, 0.0)
    assert rig.watcher.told == []


async def test_what_a_provider_says_is_learned_when_its_stream_begins_and_not_again_at_its_end(world: World) -> None:
    headers = {
        "llm_provider-x-ratelimit-limit-requests": "10",
        "llm_provider-x-ratelimit-remaining-requests": "4",
        "llm_provider-x-ratelimit-reset-requests": "50s",
    }
    stream = Stream(headers)

    async def streaming(_: object) -> object:
        return stream

    rig = Rig(world, limits={"rpm": 10})
    del rig.deployments[1:]
    await rig.request(streaming, stream=True, litellm_logging_obj=stream.logging_obj)
    assert rig.left("a") == 4
    world.now += 1
    for _ in range(2):
        await rig.request(answered)
    rig.router.on_stream_end(stream.call, None, parse_usage(ANSWER.usage, headers=headers))
    assert rig.left("a") == 2


async def test_what_goes_wrong_in_learning_keeps_nothing_reserved(world: World) -> None:
    rig = Rig(world, limits={"concurrent": 1})
    errors: list[str] = []
    rig.router = AccountRouter(
        RotationSettings(queue_timeout=0.0),
        clock=world.clock,
        random=random.Random(3).random,
        spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
        observer=rig.watcher,
        errors=lambda where, _: errors.append(where),
    )
    rig.router.estimator.observe = None
    for _ in range(4):
        assert isinstance((await rig.request(answered))[0], Pick)
    assert (errors, rig.under_way) == (["learning from an end"] * 4, 0)


async def test_an_error_while_others_wait_is_told_and_they_are_chosen_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, happened = Rig(world, queue_timeout=30.0, limits={"concurrent": 1}), []
    rig.router = AccountRouter(
        RotationSettings(queue_timeout=30.0),
        clock=world.clock,
        random=random.Random(3).random,
        spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
        observer=rig.watcher,
        errors=lambda where, error: happened.append((where, type(error))),
    )
    del rig.deployments[1:]
    release = asyncio.Event()

    async def first(_: object) -> object:
        await release.wait()
        return ANSWER

    holding = asyncio.create_task(rig.request(first))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting = asyncio.create_task(rig.request(answered))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    picks = rig.router.pool.pick
    # The first look of the line, not that of the request itself.
    broken = iter([True])
    monkeypatch.setattr(rig.router.pool, "pick", lambda *told: 1 / 0 if next(broken, False) else picks(*told))
    release.set()
    _, (found, _) = await asyncio.gather(holding, waiting)
    assert isinstance(found, Pick)
    assert happened == [("serving the queue", ZeroDivisionError)]


async def test_another_client_is_served_with_what_is_too_little_for_a_large_request(world: World) -> None:
    rig = Rig(world, limits={"tpm": 1000}, queue_timeout=90.0)
    del rig.deployments[1:]
    release = asyncio.Event()

    async def holds(_: object) -> object:
        await release.wait()
        return ANSWER

    # Of an answer of which nothing is known, 500 tokens are reckoned with.
    holding = asyncio.create_task(rig.request(holds, input="x" * 400))
    await asyncio.sleep(0)
    large = asyncio.create_task(rig.request(answered, input="x" * 400))
    await asyncio.sleep(0)
    for _ in range(2):
        found, _ = await rig.request(answered, max_tokens=100, metadata={"user_api_key": "another"})
        assert isinstance(found, Pick)
        assert not large.done()
    release.set()
    found, _ = (await asyncio.gather(holding, large))[1]
    assert isinstance(found, Pick)
