"""Sharing of controls through a store that fails, and through none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation.controls.control_store import decode
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.controls.control_table import ControlKey

KEY = ("north", ControlKind.TRAFFIC)
PAUSED = Control(account="north", kind=ControlKind.TRAFFIC, traffic=Traffic.PAUSED)


class MemoryStore:
    """A store that may be away."""

    def __init__(self) -> None:
        self.controls: dict[ControlKey, Control] = {}
        self.is_away = False
        self.epoch = ""

    async def load(self, new_epoch: str) -> tuple[list[Control], str]:
        self._check()
        self.epoch = self.epoch or new_epoch
        return list(self.controls.values()), self.epoch

    async def save(self, changes: Mapping[ControlKey, Control | None]) -> None:
        self._check()
        for key, control in changes.items():
            self.controls.pop(key, None)
            if control is not None:
                self.controls[key] = control

    async def close(self) -> None:
        pass

    def lose_everything(self) -> None:
        self.controls.clear()
        self.epoch = ""

    def _check(self) -> None:
        if self.is_away:
            raise ConnectionError


def worker(store: MemoryStore | None) -> ControlSync:
    return ControlSync(ControlTable(lambda: 1000.0), store)


async def test_without_a_store_a_control_holds_in_its_worker_only() -> None:
    alone = worker(None)
    assert await alone.put(PAUSED) is False
    await alone.refresh()
    assert alone.table.of_account("north") == (PAUSED,)


async def test_another_worker_has_a_control_after_its_next_refresh() -> None:
    store = MemoryStore()
    first, second = worker(store), worker(store)
    assert await first.put(PAUSED) is True
    await second.refresh()
    assert second.table.of_account("north") == (PAUSED,)
    assert await second.withdraw(KEY) is True
    await first.refresh()
    assert first.table.of_account("north") == ()


async def test_a_control_that_could_not_be_stored_holds_here_and_is_stored_later() -> None:
    store = MemoryStore()
    first, second = worker(store), worker(store)
    store.is_away = True
    assert await first.put(PAUSED) is False
    with pytest.raises(ConnectionError):
        await first.refresh()
    assert first.table.of_account("north") == (PAUSED,)
    store.is_away = False
    await first.refresh()
    await second.refresh()
    assert first.table.of_account("north") == second.table.of_account("north") == (PAUSED,)


async def test_a_store_that_loses_everything_gets_it_back() -> None:
    store = MemoryStore()
    first, second = worker(store), worker(store)
    await first.put(PAUSED)
    await first.refresh()
    await second.refresh()
    store.lose_everything()
    await second.refresh()
    await first.refresh()
    assert first.table.of_account("north") == second.table.of_account("north") == (PAUSED,)
    assert list(store.controls.values()) == [PAUSED]


async def test_what_was_lost_comes_back_also_if_something_new_is_stored_first() -> None:
    store = MemoryStore()
    first = worker(store)
    await first.put(PAUSED)
    await first.refresh()
    store.lose_everything()
    newcomer = worker(store)
    other = PAUSED.model_copy(update={"account": "south"})
    await newcomer.put(other)
    await newcomer.refresh()
    await first.refresh()
    await newcomer.refresh()
    for each in (first, newcomer):
        assert each.table.of_account("north") == (PAUSED,)
        assert each.table.of_account("south") == (other,)


async def test_a_control_that_is_put_during_a_refresh_is_not_lost() -> None:
    store = MemoryStore()
    own = worker(store)
    load = store.load

    pausing: list[asyncio.Task[bool]] = []

    async def load_while_an_operator_pauses(new_epoch: str) -> tuple[list[Control], str]:
        loaded = await load(new_epoch)
        pausing.append(asyncio.create_task(own.put(PAUSED)))
        await asyncio.sleep(0)
        return loaded

    await own.refresh()
    store.load = load_while_an_operator_pauses  # type: ignore[method-assign]
    await own.refresh()
    assert own.table.of_account("north") == (PAUSED,)
    assert await pausing[0] is True


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"account": "north"}', b"x" * 5000, b"\xed\xa0\x80"])
def test_a_damaged_control_in_the_store_is_left_out(text: bytes) -> None:
    assert decode(text) is None


def test_a_stored_control_is_read_as_it_was() -> None:
    control = Control(account="näme/1", kind=ControlKind.WEIGHT, number=0.25, until=2000.5, by="anna", reason="test")
    assert decode(control.model_dump_json()) == control
