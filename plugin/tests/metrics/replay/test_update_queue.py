"""Queued updates are applied completely and in order, without blocking the loop for long."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings, strategies as st
from prometheus_client import CollectorRegistry

from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge
from litellm_evenkeel.metrics.replay import update_queue
from litellm_evenkeel.metrics.replay.update_plan import BoundPlan, LabelSource, MetricUpdate, UpdatePlan
from litellm_evenkeel.metrics.replay.update_queue import BATCH_SIZE, EARLY_FLUSH_UPDATES, UpdateQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class World:
    def __init__(self, *, max_waiting: int = 10_000, flush_seconds: float = 0.001) -> None:
        self.registry = CollectorRegistry()
        self.store = MetricStore(self.registry)
        self.calls = Counter(self.store, "calls", "Calls.", ("who",))
        self.left = Gauge(self.store, "left", "Left.", ("who",))
        self.queue = UpdateQueue(self.store, flush_seconds=flush_seconds, max_waiting=max_waiting)
        self._bound_plans: dict[str, BoundPlan] = {}

    def bound_plan(self, who: str) -> BoundPlan:
        """Return a plan that counts a call and sets `left` to the number of the event."""
        if who not in self._bound_plans:
            labels = (LabelSource(0, is_cleaned=False),)
            steps = (MetricUpdate(self.calls, labels, "inc", 1.0), MetricUpdate(self.left, labels, "set", 0))
            self._bound_plans[who] = BoundPlan(UpdatePlan(steps), (who,), str)
        return self._bound_plans[who]

    def take(self, who: str, left: float = 0.0) -> None:
        self.queue.take(self.bound_plan(who), (left,))

    def value(self, family: str, who: str) -> float | None:
        return self.registry.get_sample_value(family, {"who": who})


async def test_others_have_the_loop_between_two_bundles() -> None:
    world, turns = World(), 0

    async def turning() -> None:
        nonlocal turns
        while world.queue.waiting:
            turns += 1
            await asyncio.sleep(0)

    for number in range(20 * BATCH_SIZE):
        world.take(f"w{number}")
    ticking = asyncio.create_task(turning())
    await world.queue.drain()
    await ticking
    assert turns > 5
    assert sum(series.value or 0 for series in world.calls.series.values()) == 20 * BATCH_SIZE


async def test_what_is_half_done_is_done_first_when_all_of_it_is_wanted() -> None:
    world = World()
    for number in range(2 * BATCH_SIZE):
        world.take(f"w{number}", number)
    world.queue._advance(lambda: True)
    assert 0 < world.queue.waiting < 2 * BATCH_SIZE
    world.take("w0", 7.0)
    world.left.labels("w1").set(9.0)
    world.queue.flush()
    assert world.queue.waiting == 0
    assert (world.value("calls_total", "w0"), world.value("left", "w0"), world.value("left", "w1")) == (2, 7, 9)


async def test_one_that_cannot_be_counted_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.take("a")
    wrong = UpdatePlan((MetricUpdate(world.calls, ("a", "b"), "inc", 1.0),))
    world.queue.take(BoundPlan(wrong, (), str), ())
    world.take("c")
    world.queue.flush()
    assert (world.value("calls_total", "a"), world.value("calls_total", "c")) == (1, 1)
    assert world.queue.dropped == {"error": 1}
    assert "events could not be counted, and are dropped (ValueError)" in caplog.text


async def test_too_many_are_dropped_and_counted_as_such() -> None:
    world = World(max_waiting=3)
    for _ in range(5):
        world.take("a")
    assert (world.queue.waiting, world.queue.dropped) == (3, {"queue_full": 2})


async def test_who_hears_that_all_was_counted_hears_it_each_time() -> None:
    world, heard = World(), []

    def flushed() -> Iterator[None]:
        heard.append(world.queue.waiting)
        yield
        heard.append(world.queue.waiting)

    world.queue.after_round = flushed
    world.take("a")
    await world.queue.drain()
    world.queue.flush()
    assert heard == [0, 0, 0, 0]


async def test_what_is_to_be_done_then_is_done_a_little_at_a_time_too() -> None:
    world, done, between = World(), 0, []

    def flushed() -> Iterator[None]:
        nonlocal done
        for _ in range(200):
            done += 1
            time.sleep(0.0001)
            yield

    async def turning() -> None:
        while done < 200:
            between.append(done)
            await asyncio.sleep(0)

    world.queue.after_round = flushed
    world.take("a")
    ticking = asyncio.create_task(turning())
    await world.queue.drain()
    await ticking
    assert done >= 200
    assert len(set(between)) > 10


async def test_what_came_while_a_round_was_under_way_is_counted_too_when_all_is_wanted() -> None:
    world = World()
    for number in range(2 * BATCH_SIZE):
        world.take(f"w{number}")
    world.queue._advance(lambda: True)
    world.take("late")
    await world.queue.drain()
    assert (world.queue.waiting, world.value("calls_total", "late")) == (0, 1)


async def test_what_cannot_be_done_then_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    def flushed() -> Iterator[None]:
        yield
        raise OSError

    world.queue.after_round = flushed
    world.take("a")
    async with asyncio.timeout(5):
        while "their gauges are out of date (OSError)" not in caplog.text:
            await asyncio.sleep(0.001)
        world.take("b")
        while world.value("calls_total", "b") is None:
            await asyncio.sleep(0.001)
    assert world.queue.dropped == {}


def test_when_the_loop_is_gone_that_should_have_counted_another_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_queue, "OVERDUE_SECONDS", 0.05)
    world = World()

    async def take(who: str) -> None:
        world.take(who)

    async def take_until_counted() -> None:
        async with asyncio.timeout(5):
            while world.value("calls_total", "a") is None:
                world.take("b")
                await asyncio.sleep(0.01)

    # It ends before anything was counted.
    asyncio.run(take("a"))
    asyncio.run(take_until_counted())


async def test_what_comes_from_another_thread_is_counted_without_being_asked_for() -> None:
    world = World()
    world.take("a")
    await asyncio.to_thread(world.take, "b")
    async with asyncio.timeout(5):
        while world.value("calls_total", "b") is None:
            await asyncio.sleep(0.001)
    await asyncio.to_thread(world.take, "c")
    async with asyncio.timeout(5):
        while world.value("calls_total", "c") is None:
            await asyncio.sleep(0.001)


async def test_many_are_counted_before_it_is_time() -> None:
    world = World(flush_seconds=60.0)
    for number in range(EARLY_FLUSH_UPDATES):
        world.take(f"w{number % 7}")
    async with asyncio.timeout(5):
        while world.queue.waiting:
            await asyncio.sleep(0.001)


whats = st.sampled_from(["take", "set", "remove", "count", "flush"])


@settings(deadline=None)
@given(st.lists(st.tuples(whats, st.sampled_from("ab"), st.integers(1, 9)), max_size=30))
async def test_in_whatever_parts_it_is_counted_it_comes_to_the_same(done: list[tuple[str, str, int]]) -> None:
    world = World()
    left: dict[str, float | None] = {}
    calls: dict[str, int] = {}
    steps: dict[str, Any] = {"count": lambda: world.queue._advance(lambda: True), "flush": world.queue.flush}
    for what, who, number in done:
        if what == "take":
            world.take(who, number)
            left[who], calls[who] = float(number), calls.get(who, 0) + 1
        elif what == "set":
            world.left.labels(who).set(number)
            left[who] = float(number)
        elif what == "remove":
            world.left.remove(who)
            left[who] = None
        else:
            steps[what]()
    world.queue.flush()
    assert {who: world.value("calls_total", who) for who in calls} == calls
    assert {who: world.value("left", who) for who in left} == left
