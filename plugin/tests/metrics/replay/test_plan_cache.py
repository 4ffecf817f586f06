"""Series: what comes of events, against what LiteLLM's own code makes of the same."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram
from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders, Raw
from litellm_evenkeel.metrics.replay.plan_cache import PlanCache

if TYPE_CHECKING:
    from collections.abc import Sequence


BEGAN = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as LiteLLM tells it
READERS = LiteLLMReaders(
    end_user=lambda params: params.get("user_api_key_end_user_id"),
    tier=lambda payload: payload.get("tier"),
    skips=lambda event: event["exception"].args == ("skip",),
    guardrail_seconds=lambda payload: sum(one["duration"] for one in payload["guardrail_information"]),
)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def event(team: str | None = "team", user: str | None = "user", cost: Any = 0.25, **payload: Any) -> Raw:
    """Return what LiteLLM tells of a success."""
    metadata = {
        "user_api_key_user_id": user,
        "user_api_key_hash": "hash",
        "user_api_key_alias": None,
        "user_api_key_team_id": team,
        "user_api_key_team_alias": "alias",
        "user_api_key_user_email": None,
        "usage_object": payload.pop("usage", None),
    }
    return {
        "model": "gpt",
        "stream": payload.get("stream"),
        "start_time": after(0),
        "api_call_start_time": after(0.25),
        "completion_start_time": after(0.5),
        "end_time": after(1),
        "litellm_params": {"metadata": {"queue_time_seconds": 0.5}, "custom_llm_provider": "openai"},
        "standard_logging_object": {
            "metadata": metadata,
            "response_cost": cost,
            "total_tokens": 30,
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "model_group": "group",
            "model_id": "id",
            "api_base": "http://base",
            "custom_llm_provider": "openai",
            "request_tags": [],
            "hidden_params": {"additional_headers": {}, "litellm_overhead_time_ms": 2.0},
            **payload,
        },
    }


class Theirs:
    """Counts events as LiteLLM's callback does, if not all that it counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.store = MetricStore(self.registry)
        self.requests = Counter(self.store, "requests", "Requests.", ("team", "user", "note"))
        self.spend = Counter(self.store, "spend", "Spend.", ("team", "user"))
        self.cached = Counter(self.store, "cached", "Cached tokens.", ("team",))
        self.left = Gauge(self.store, "left", "Left.", ("team",))
        self.took = Histogram(self.store, "took", "Took.", ("team",), buckets=(0.5, 1.0))
        self.runs = 0
        self.twist = 0.0
        """Changed behaviour of LiteLLM."""

    async def count(self, event: Raw, answer: object, start: datetime, end: datetime) -> None:
        del answer, start, end
        self.runs += 1
        payload = event["standard_logging_object"]
        metadata = payload["metadata"]
        team, user = (
            str(value).replace("\\", "\\\\").replace('"', '\\"')
            for value in (metadata["user_api_key_team_id"], metadata["user_api_key_user_id"])
        )
        note = payload.get("note") or payload.get("deep", {}).get("note", "none")
        self.requests.labels(team=team, user=user, note=note).inc()
        self.spend.labels(team=team, user=user).inc(float(payload["response_cost"]) + self.twist)
        usage = metadata["usage_object"]
        if usage and usage["prompt_tokens_details"]["cached_tokens"]:
            self.cached.labels(team=team).inc(usage["prompt_tokens_details"]["cached_tokens"])
        queued = event["litellm_params"]["metadata"]["queue_time_seconds"]
        self.took.labels(team=team).observe((event["end_time"] - event["start_time"]).total_seconds() + queued)
        left = payload["hidden_params"]["additional_headers"].get("x_ratelimit_remaining_requests")
        if left is None:
            self.left.remove(team)
        else:
            self.left.labels(team=team).set(left)


@pytest.fixture
def theirs() -> Theirs:
    return Theirs()


def cleaned(value: Any) -> Any:
    return value if value is None else str(value).replace("\\", "\\\\").replace('"', '\\"')


def series(theirs: Theirs, **settings: Any) -> PlanCache:
    def record(event: Raw, *arguments: Any) -> Any:
        return theirs.store.record(theirs.count(event, *arguments))

    return PlanCache(theirs.store, READERS, cleaned, record, clock=lambda: 0.0, **settings)


def scraped(theirs: Theirs) -> list[str]:
    lines = generate_latest(theirs.registry).decode().splitlines()
    return sorted(line for line in lines if "_created" not in line)


async def count_all(theirs: Theirs, counted: PlanCache | None, events: Sequence[Raw]) -> list[str]:
    for one in events:
        if counted is None or not counted.take_success(one, None, BEGAN, after(1)):
            await theirs.count(one, None, BEGAN, after(1))
    if counted is not None:
        await counted.queue.drain()
    return scraped(theirs)


headers = st.sampled_from([{}, {"x_ratelimit_remaining_requests": 5}, {"x_ratelimit_remaining_requests": 0}])
usages = st.sampled_from(
    [None, {"prompt_tokens_details": {"cached_tokens": 7}}, {"prompt_tokens_details": {"cached_tokens": 0}}]
)
events = st.builds(
    lambda team, user, cost, left, usage: event(
        team, user, cost, usage=usage, hidden_params={"additional_headers": left, "litellm_overhead_time_ms": None}
    ),
    st.sampled_from(["a", "b", None, "", 'x"y']),
    st.sampled_from(["u", "v", None]),
    st.sampled_from([0, 0.0, 0.25, 0.5, 3]),
    headers,
    usages,
)


@settings(deadline=None)
@given(st.lists(events, max_size=30))
def test_what_is_told_is_what_their_own_code_tells(seen: list[Raw]) -> None:
    mine, theirs = Theirs(), Theirs()
    assert asyncio.run(count_all(mine, series(mine), seen)) == asyncio.run(count_all(theirs, None, seen))


async def test_their_code_runs_for_the_first_events_of_a_shape_only(theirs: Theirs) -> None:
    counted = series(theirs)
    for number in range(200):
        assert counted.take_success(event(f"team {number}", cost=0.5 + number), None, BEGAN, after(1))
    assert theirs.runs <= 4
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("spend_total", {"team": "team 7", "user": "user"}) == 7.5


@pytest.mark.parametrize("wrong", [None, "1", True, float("nan"), -1.0])
async def test_what_is_unusual_is_left_to_their_code(theirs: Theirs, wrong: Any) -> None:
    counted = series(theirs)
    assert not counted.take_success(event(cost=wrong), None, BEGAN, after(1))
    assert (counted.counts["unsupported"], counted.queue.waiting) == (1, 0)
    assert not counted.take_success({}, None, BEGAN, after(1))


async def test_a_label_that_comes_from_what_nobody_reads_is_left_to_their_code(theirs: Theirs) -> None:
    counted = series(theirs)
    assert not counted.take_success(event(note="first"), None, BEGAN, after(1))
    assert (counted.counts["unplanned"], counted.counts["plan_rejected"]) == (1, 0)


async def test_one_that_is_hidden_is_found_out_with_the_first_events_that_differ(
    theirs: Theirs, caplog: pytest.LogCaptureFixture
) -> None:
    counted = series(theirs)
    assert counted.take_success(event(deep={"note": "first"}), None, BEGAN, after(1))
    assert not counted.take_success(event(user="another", deep={"note": "second"}), None, BEGAN, after(1))
    assert not counted.take_success(event(user="a third", deep={"note": "first"}), None, BEGAN, after(1))
    assert counted.counts == {"success": 1, "plan_rejected": 1, "unplanned": 1}
    assert "counts such events from now on" in caplog.text


async def test_what_their_code_does_otherwise_later_is_found_out(theirs: Theirs) -> None:
    counted = series(theirs)
    taken = [counted.take_success(event(), None, BEGAN, after(1)) for _ in range(1100)]
    theirs.twist = 1.0
    taken += [counted.take_success(event(), None, BEGAN, after(1)) for _ in range(1100)]
    assert (all(taken[:1100]), any(taken[2100:])) == (True, False)


async def test_what_waits_is_bounded_and_what_is_dropped_is_counted(theirs: Theirs) -> None:
    counted = series(theirs, max_waiting=10)
    assert all(counted.take_success(event(), None, BEGAN, after(1)) for _ in range(15))
    assert (counted.queue.waiting, counted.queue.dropped["queue_full"]) == (10, 5)
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("requests_total", {"team": "team", "user": "user", "note": "none"}) == 10


async def test_events_are_counted_by_and_by_without_being_asked_for(theirs: Theirs) -> None:
    counted = series(theirs, flush_seconds=0.01)
    counted.take_success(event(), None, BEGAN, after(1))
    for _ in range(500):
        if not counted.queue.waiting:
            break
        await asyncio.sleep(0.01)
    assert counted.queue.waiting == 0
    counted.take_success(event(), None, BEGAN, after(1))
    assert counted.queue.waiting == 1


async def test_events_of_other_threads_are_counted_in_the_loop(theirs: Theirs) -> None:
    counted = series(theirs, flush_seconds=0.01)
    counted.take_success(event(), None, BEGAN, after(1))

    def elsewhere() -> None:
        async def some() -> None:
            for _ in range(100):
                counted.take_success(event(), None, BEGAN, after(1))

        asyncio.run(some())

    threads = [threading.Thread(target=elsewhere) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("requests_total", {"team": "team", "user": "user", "note": "none"}) == 301


async def test_what_is_set_beside_keeps_its_place_in_the_order(theirs: Theirs) -> None:
    counted = series(theirs)
    some = event(hidden_params={"additional_headers": {"x_ratelimit_remaining_requests": 5}})
    counted.take_success(some, None, BEGAN, after(1))
    theirs.left.labels("team").set(1)
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("left", {"team": "team"}) == 1
    counted.take_success(some, None, BEGAN, after(1))
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("left", {"team": "team"}) == 5


async def test_series_that_were_retired_are_looked_up_anew(theirs: Theirs) -> None:
    counted = series(theirs)
    counted.take_success(event(), None, BEGAN, after(1))
    await counted.queue.drain()
    theirs.store.retire("team", "team")
    counted.take_success(event(), None, BEGAN, after(1))
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("spend_total", {"team": "team", "user": "user"}) == 0.25
    assert theirs.store.removed_totals["spend_total"] == 0.25


async def test_failures_that_are_alike_are_counted_alike(theirs: Theirs) -> None:
    failed = Counter(theirs.store, "failed", "Failed.", ("why",))
    state = Gauge(theirs.store, "state", "State.", ("where",))
    runs = []

    async def fails() -> None:
        runs.append(1)
        failed.labels("429").inc()
        state.labels("here").set(1)

    counted = series(theirs)
    for _ in range(5):
        assert counted.take_failure("key", lambda: theirs.store.record(fails()))
    await counted.queue.drain()
    value = theirs.registry.get_sample_value
    assert (len(runs), value("failed_total", {"why": "429"}), value("state", {"where": "here"})) == (1, 5, 1)


async def test_an_observation_of_nothing_is_one(theirs: Theirs) -> None:
    counted = series(theirs)
    some = event()
    some["litellm_params"]["metadata"]["queue_time_seconds"] = 0.0
    some["end_time"] = some["start_time"]
    for _ in range(3):
        assert counted.take_success(some, None, BEGAN, after(1))
    await counted.queue.drain()
    assert theirs.registry.get_sample_value("took_count", {"team": "team"}) == 3


async def test_what_is_removed_beside_keeps_its_place_in_the_order(theirs: Theirs) -> None:
    counted = series(theirs)
    some = event(hidden_params={"additional_headers": {"x_ratelimit_remaining_requests": 5}})
    for is_removed in (True, False):
        counted.take_success(some, None, BEGAN, after(1))
        theirs.left.remove("team")
        if not is_removed:
            counted.take_success(some, None, BEGAN, after(1))
        await counted.queue.drain()
        assert theirs.registry.get_sample_value("left", {"team": "team"}) == (None if is_removed else 5)


def busy_after_others(theirs: Theirs) -> list[Raw]:
    """Return events of five teams: the first of them is the busiest, and the last one's, too."""
    return [event(team) for team in ("busy", "a", "b", "c", "busy", "d", "busy", "busy")]


async def test_the_series_that_come_first_have_the_places_however_often_they_come(theirs: Theirs) -> None:
    theirs.store.max_series = 3
    expected = Theirs()
    expected.store.max_series = 3
    mine = await count_all(theirs, series(theirs), busy_after_others(theirs))
    assert mine == await count_all(expected, None, busy_after_others(expected))
    assert theirs.registry.get_sample_value("spend_total", {"team": "busy", "user": "user"}) == 4 * 0.25
    assert theirs.registry.get_sample_value("spend_total", {"team": "other", "user": "other"}) == 2 * 0.25


async def test_what_their_code_counts_at_once_takes_no_place_of_what_came_before_and_waits(theirs: Theirs) -> None:
    theirs.store.max_series = 2
    seen = [event("a"), event("b"), event("odd", cost=True), event("a")]
    await count_all(theirs, series(theirs), seen)
    value = theirs.registry.get_sample_value
    assert [value("spend_total", {"team": team, "user": "user"}) for team in ("a", "b", "odd")] == [0.5, 0.25, None]
    assert value("spend_total", {"team": "other", "user": "other"}) == 1.0


async def test_series_that_went_get_their_places_anew_in_the_order_of_the_events(theirs: Theirs) -> None:
    theirs.store.max_series = 1
    counted = series(theirs)
    await count_all(theirs, counted, [event("b"), event("a")])
    with theirs.store.lock:
        for family in theirs.store.families.values():
            family.remove_series(("b", "user"))
        theirs.store.epoch += 1
    await count_all(theirs, counted, [event("a"), event("b"), event("a")])
    assert theirs.registry.get_sample_value("spend_total", {"team": "a", "user": "user"}) == 2 * 0.25


async def test_a_failure_of_which_nothing_was_counted_is_left_to_their_code(theirs: Theirs) -> None:
    counted, runs = series(theirs), []

    def watch() -> list[Any]:
        runs.append(1)
        return []

    assert [counted.take_failure("key", watch) for _ in range(3)] == [False, False, False]
    assert (len(runs), counted.queue.waiting) == (1, 0)


async def test_a_name_that_is_no_text_is_left_to_their_code_without_a_warning(
    theirs: Theirs, caplog: pytest.LogCaptureFixture
) -> None:
    counted = series(theirs)
    assert not any(counted.take_success(event(42), None, BEGAN, after(1)) for _ in range(3))  # type: ignore[arg-type]
    assert (counted.counts["unplanned"], counted.counts["plan_rejected"], caplog.text) == (3, 0, "")
