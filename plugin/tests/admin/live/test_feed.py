"""Events of the live page: the first has everything, later ones what has changed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.admin.live.feed import INTERVALS_PER_ROUND, MAX_VIEWERS, LiveFeed
from litellm_evenkeel.errors import AdminRequestError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence


class World:
    """A source of accounts whose number of pins changes."""

    def __init__(self, interval: float = 0.01) -> None:
        self.pins = {"a": 1, "b": 2}
        self.rate = 0.5
        self.reads: list[list[str]] = []
        self.is_ending = False
        self.feed = LiveFeed(
            self,
            lambda: {"budgets": lambda: {"ok": True}},
            is_shutting_down=lambda: self.is_ending,
            interval=interval,
        )

    def fingerprints(self) -> Mapping[str, Hashable]:
        return dict(self.pins)

    async def account_documents(self, names: Sequence[str]) -> list[dict[str, Any]]:
        self.reads.append(list(names))
        return [{"account": name, "pins": self.pins[name], "rate": self.rate} for name in names]

    def summary(self) -> dict[str, Any]:
        return {"worker": {"pid": 1}}


def document(event: str) -> dict[str, Any]:
    assert event.startswith("data: ")
    assert event.endswith("\n\n")
    parsed: dict[str, Any] = json.loads(event.removeprefix("data: "))
    return parsed


async def test_the_first_event_has_everything_and_later_ones_the_changes() -> None:
    world = World()
    events = world.feed.stream()
    first = document(await anext(events))
    assert first["proxy"] == {"worker": {"pid": 1}, "budgets": {"ok": True}}
    assert [account["account"] for account in first["accounts"]] == ["a", "b"]
    assert document(await anext(events)) == {"proxy": None, "accounts": [], "gone": []}
    world.pins["b"] = 3
    del world.pins["a"]
    changed = document(await anext(events))
    assert (changed["accounts"], changed["gone"]) == ([{"account": "b", "pins": 3, "rate": 0.5}], ["a"])
    await events.aclose()
    assert world.feed.viewers == 0


async def test_an_account_without_an_event_is_read_in_its_turn() -> None:
    world = World()
    world.pins = {str(number): 0 for number in range(100)}
    events = world.feed.stream()
    await anext(events)
    world.rate, world.reads = 0.4, []
    seen = [account for _ in range(INTERVALS_PER_ROUND) for account in document(await anext(events))["accounts"]]
    assert {account["account"] for account in seen} == set(world.pins)
    assert all(len(names) == 10 for names in world.reads)


async def test_several_viewers_share_a_read() -> None:
    world = World(interval=60.0)
    viewers = [world.feed.stream() for _ in range(MAX_VIEWERS)]
    await asyncio.gather(*(anext(viewer) for viewer in viewers))
    assert len(world.reads) == 1
    with pytest.raises(AdminRequestError, match="viewers"):
        await anext(world.feed.stream())
    for viewer in viewers:
        await viewer.aclose()


async def test_a_stream_ends_when_the_proxy_shuts_down() -> None:
    world = World(interval=60.0)
    events = world.feed.stream()
    await anext(events)
    world.is_ending = True
    assert [event async for event in events] == []
