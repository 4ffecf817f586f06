"""Any order of events: the cache returns the last observation, and looks up budgets when they are due."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import TYPE_CHECKING

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from litellm_evenkeel.budgets import Budget, BudgetCache, BudgetEntity, BudgetObservation, BudgetSettings, Source
from litellm_evenkeel.budgets.budget import absent, merge
from litellm_evenkeel.budgets.cache import JITTER
from litellm_evenkeel.budgets.stats import SourceFailures

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets import Entity
    from litellm_evenkeel.support.circuit_breaker import BreakerState

TERMS = BudgetSettings(max_entries=4)
entities = st.tuples(st.sampled_from([BudgetEntity.TEAM, BudgetEntity.USER]), st.sampled_from("abcdef"))


class Desk:
    """A loader that answers on demand."""

    statements = waiting = rejected = 0

    def __init__(self) -> None:
        self.asked: dict[Entity, None] = {}
        self.listener: Callable[[Entity, Budget], None] = lambda *_: None

    def breaker_states(self) -> dict[Source, BreakerState]:
        return {}

    def request(self, entity: Entity) -> bool:
        was_asked = entity in self.asked
        self.asked[entity] = None
        return was_asked


class Cache(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now, self.desk = 1_000_000.0, Desk()
        self.told: dict[Entity, Budget] = {}
        self.budgets = BudgetCache(
            TERMS,
            SourceFailures(lambda: self.now),
            self.desk,  # type: ignore[arg-type]
            peek=lambda *_: None,
            listener=lambda kind, who, budget: self.told.__setitem__((kind, who), budget),
            random=random.Random(1).random,
        )
        self.known: dict[BudgetEntity, OrderedDict[str, Budget]] = {kind: OrderedDict() for kind in BudgetEntity}
        self.due: dict[Entity, tuple[float, float]] = {}
        self.gets = 0

    def learn(self, entity: Entity, budget: Budget, *, is_answer: bool) -> None:
        kind, who = entity
        known = self.known[kind]
        if who not in known:
            self.due.pop(entity, None)
        known[who] = merge(known.get(who), budget)
        known.move_to_end(who)
        if is_answer:
            ttl = TERMS.ttl if budget.exists else TERMS.negative_ttl
            first, last = self.due.get(entity, (0.0, 0.0))
            due = budget.as_of + ttl * (1 - JITTER), budget.as_of + ttl * (1 + JITTER)
            self.due[entity] = max(first, due[0]), max(last, due[1])
        while len(known) > TERMS.max_entries:
            known.popitem(last=False)

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0, 23.9, 36.1, 72.1]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(entity=entities)
    def somebody_asks(self, entity: Entity) -> None:
        kind, who = entity
        expected = self.known[kind].get(who)
        was_asked = entity in self.desk.asked
        assert self.budgets.get(kind, who, self.now) == expected
        self.gets += 1
        if expected is None:
            assert entity in self.desk.asked
            return
        self.known[kind].move_to_end(who)
        first, last = self.due.get(entity, (0.0, 0.0))
        if self.now >= last:
            assert entity in self.desk.asked
        elif self.now < first and not was_asked:
            assert entity not in self.desk.asked

    @precondition(lambda self: self.desk.asked)
    @rule(data=st.data(), spend=st.none() | st.floats(0, 100), took=st.sampled_from([0.0, 0.5, 5.0]))
    def a_lookup_answers(self, data: st.DataObject, spend: float | None, took: float) -> None:
        entity = data.draw(st.sampled_from(sorted(self.desk.asked)))
        del self.desk.asked[entity]
        as_of = self.now - took
        found = absent(as_of, Source.POSTGRES)
        if spend is not None:
            found = Budget(as_of, Source.POSTGRES, maximum=50.0, spend=spend, never_resets=True)
        self.desk.listener(entity, found)
        self.learn(entity, found, is_answer=True)

    @rule(entity=entities, spend=st.none() | st.floats(0, 100), maximum=st.sampled_from([None, 5.0]))
    def a_request_tells(self, entity: Entity, spend: float | None, maximum: float | None) -> None:
        hint = Budget(self.now, Source.EVENT, maximum=maximum, spend=spend, alias="a", never_resets=spend is not None)
        self.budgets.record(BudgetObservation(*entity, hint))
        if hint.has_values:
            self.learn(entity, hint, is_answer=hint.is_complete)

    @invariant()
    def no_more_are_remembered_than_may_be(self) -> None:
        counts = self.budgets.counts(self.now).kinds
        assert all(one.known == len(self.known[kind]) <= TERMS.max_entries for kind, one in counts.items())

    @invariant()
    def each_answer_is_counted_once(self) -> None:
        counts = self.budgets.counts(self.now).kinds.values()
        assert sum(one.hits + one.misses + one.stale + one.negative for one in counts) == self.gets

    @invariant()
    def whoever_listens_knows_what_is_known(self) -> None:
        for kind, known in self.known.items():
            assert all(self.told[kind, who].values == budget.values for who, budget in known.items())


TestCache = Cache.TestCase
TestCache.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
