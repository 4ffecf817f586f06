"""A bounded dictionary, against a list that is searched from end to end."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from litellm_evenkeel.support.lru_dict import LruDict

KEYS = st.integers(0, 6)
VALUES = st.integers(0, 3)


class Model:
    """Entries in order of use, the least recently used one first."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.entries: list[tuple[int, int]] = []

    def get(self, key: int) -> int | None:
        return next((value for other, value in self.entries if other == key), None)

    def remove(self, key: int) -> None:
        self.entries = [entry for entry in self.entries if entry[0] != key]

    def use(self, key: int) -> int | None:
        value = self.get(key)
        if value is not None:
            self.remove(key)
            self.entries.append((key, value))
        return value

    def put(self, key: int, value: int) -> tuple[int, int] | None:
        self.remove(key)
        self.entries.append((key, value))
        return self.entries.pop(0) if len(self.entries) > self.max_size else None


class LruDictMachine(RuleBasedStateMachine):
    @initialize(max_size=st.integers(0, 5))
    def start(self, max_size: int) -> None:
        self.entries: LruDict[int, int] = LruDict(max_size)
        self.model = Model(max_size)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: int, value: int) -> None:
        assert self.entries.put(key, value) == self.model.put(key, value)

    @rule(key=KEYS)
    def use(self, key: int) -> None:
        assert self.entries.use(key) == self.model.use(key)

    @rule(key=KEYS)
    def get(self, key: int) -> None:
        assert self.entries.get(key) == self.model.get(key)

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        assert self.entries.pop(key, None) == self.model.get(key)
        self.model.remove(key)

    @invariant()
    def entries_and_their_order_are_the_same(self) -> None:
        if hasattr(self, "entries"):
            assert list(self.entries.items()) == self.model.entries
            assert len(self.entries) <= self.entries.max_size


TestLruDict = LruDictMachine.TestCase


@given(st.lists(KEYS, unique=True), st.integers(0, 5))
def test_the_newest_stay(keys: list[int], max_size: int) -> None:
    entries: LruDict[int, str] = LruDict(max_size)
    evicted = [entry for key in keys if (entry := entries.put(key, str(key))) is not None]
    kept = len(keys) - len(evicted)
    assert kept == min(len(keys), max_size)
    assert [*evicted, *entries.items()] == [(key, str(key)) for key in keys]


def test_a_key_in_use_outlives_a_newer_one() -> None:
    entries: LruDict[str, int] = LruDict(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.use("a") == 1
    assert entries.put("c", 3) == ("b", 2)
    assert list(entries) == ["a", "c"]


def test_a_false_value_is_used_like_any_other() -> None:
    entries: LruDict[str, int] = LruDict(2)
    entries.put("a", 0)
    entries.put("b", 0)
    assert entries.use("a") == 0
    assert list(entries) == ["b", "a"]


def test_a_key_that_cannot_be_hashed_is_refused() -> None:
    entries: LruDict[object, int] = LruDict(1)
    with pytest.raises(TypeError):
        entries.put([], 1)
    assert not entries
