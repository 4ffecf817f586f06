"""Results that are remembered for a while, and forgotten when something changes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from litellm_evenkeel.lean.deployments.remembered import MOST, SECONDS, Remembered


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_result_is_made_once_until_it_is_old() -> None:
    clock = Clock()
    results, made = Remembered[int](clock), list[int]()

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [results.get("key", make) for _ in range(3)] == [0, 0, 0]
    clock.now = SECONDS
    assert [results.get("key", make) for _ in range(3)] == [1, 1, 1]
    assert results.get("other key", make) == 2


def test_a_change_makes_it_forget() -> None:
    results = Remembered[str](Clock())
    assert results.get("key", lambda: "old") == "old"
    results.forget()
    assert results.get("key", lambda: "new") == "new"


def test_a_result_that_was_made_during_a_change_is_not_kept() -> None:
    results = Remembered[str](Clock())

    def make() -> str:
        results.forget()
        return "old"

    assert results.get("key", make) == "old"
    assert results.get("key", lambda: "new") == "new"


def test_many_keys_do_not_fill_the_memory() -> None:
    results, kept = Remembered[object](Clock()), object()
    for number in range(MOST):
        results.get(number, object)
    assert results.get(MOST, lambda: kept) is kept
    assert results.get(MOST, object) is kept
    made = [number for number in range(MOST) if results.get(number, lambda: None) is None]
    assert len(made) > MOST // 2


def test_old_results_are_removed() -> None:
    """A list of a thousand deployments takes megabytes, and each set of cooldowns gives another list."""
    clock, kept = Clock(), weakref.WeakSet[Any]()
    results = Remembered[Any](clock)
    for number in range(10):
        kept.add(results.get(number, type("Large", (), {})))
        clock.now += SECONDS
    gc.collect()
    assert len(kept) == 1
