"""Frozen objects: which and when, and that no collection visits them again."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.gc_freeze import GcFreezer, GcFreezeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Fake:
    """A garbage collector that collects on demand."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[str, Mapping[str, int]], None]] = []
        self.did: list[str] = []

    def collect(self) -> int:
        self.did.append("collect")
        return 0

    def freeze(self) -> None:
        self.did.append("freeze")

    def happens(self, generation: int) -> None:
        for phase in ("start", "stop"):
            for heard in self.callbacks:
                heard(phase, {"generation": generation})


@given(st.integers(0, 5), st.lists(st.integers(0, 2), max_size=20), st.booleans())
def test_it_freezes_at_the_start_and_after_so_many_full_collections(
    freezes: int,
    generations: list[int],
    is_start_frozen: bool,  # noqa: FBT001
) -> None:
    fake = Fake()
    GcFreezer(GcFreezeSettings(freezes=freezes), fake, is_start_frozen=is_start_frozen).start()
    at_start = ["collect"] if is_start_frozen else ["collect", "freeze"]
    assert fake.did == at_start
    for generation in generations:
        fake.happens(generation)
    full = generations.count(2)
    assert fake.did == at_start + ["freeze"] * min(full, freezes)
    assert bool(fake.callbacks) == bool(freezes)


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_what_survives_is_looked_at_no_more() -> None:
    GcFreezer(GcFreezeSettings(freezes=1)).start()
    frozen = gc.get_freeze_count()
    held = [[number] for number in range(10_000)]
    gc.collect()
    assert gc.get_freeze_count() >= frozen + len(held)
    assert not any(one is held[0] for one in gc.get_objects())
