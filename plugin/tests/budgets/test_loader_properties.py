"""Any behaviour of a server: one query at a time, no entity in it twice, and an answer for each in the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st

from litellm_evenkeel.budgets import BudgetEntity

if TYPE_CHECKING:
    from conftest import World

steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 30)),
        st.tuples(st.just("fail"), st.booleans()),
        st.tuples(st.just("turn"), st.integers(1, 4)),
        st.tuples(st.just("wait"), st.integers(1, 50)),
    ),
    max_size=60,
)


async def played(world: World, told: list[tuple[str, int]]) -> None:
    wanted = set()
    for what, number in told:
        if what == "ask":
            world.get(BudgetEntity.TEAM, str(number))
            wanted.add(str(number))
        elif what == "fail":
            world.database.error = ConnectionResetError() if number else None
        elif what == "wait":
            world.now += number
        else:
            for _ in range(number):
                await asyncio.sleep(0)
    world.database.error = None
    began = world.now
    await world.settle()
    assert world.now - began <= world.settings.ttl
    assert all(world.get(BudgetEntity.TEAM, who) is not None for who in wanted)
    await world.settle()
    assert world.database.most_at_once <= 1
    assert all(len(set(one)) == len(one) for one in world.database.asked)
    counts = world.budgets.counts(world.now)
    assert counts.waiting == 0
    assert counts.statements == len(world.database.asked)
    await world.budgets.close()


@settings(max_examples=60, deadline=None)
@given(told=steps, is_shared=st.booleans())
def test_everybody_is_answered_within_one_ttl_of_a_recovery(
    world_type: type[World], told: list[tuple[str, int]], *, is_shared: bool
) -> None:
    async def play() -> None:
        await played(world_type(is_shared=is_shared), told)

    asyncio.run(play())
