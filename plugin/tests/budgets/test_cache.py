"""Cached budgets are returned at once, and looked up in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.budgets import (
    Budget,
    BudgetEntity,
    BudgetObservation,
    RequestOwners,
    Source,
    health,
    observations,
)
from litellm_evenkeel.budgets.cache import JITTER
from litellm_evenkeel.support.driver_errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import World

TEAM = (BudgetEntity.TEAM, "t")
LOOKED_UP = (BudgetEntity.KEY, BudgetEntity.TEAM, BudgetEntity.USER, BudgetEntity.ORG, BudgetEntity.CUSTOMER)


def told(as_of: float, spend: float | None = None, maximum: float | None = None, **more: object) -> Budget:
    return Budget(as_of, Source.EVENT, maximum=maximum, spend=spend, **more)


async def test_a_cold_budget_is_unknown_at_first_and_then_known_and_told(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    assert world.get(*TEAM) is None
    await world.settle()
    found = world.get(*TEAM)
    assert found is not None
    assert (found.remaining, found.source, found.as_of) == (6.0, Source.POSTGRES, world.now)
    assert world.changes == [(*TEAM, found)]


async def test_all_that_is_wanted_in_one_tick_is_one_question(world: World) -> None:
    for number in range(1000):
        world.get(LOOKED_UP[number % 5], str(number % 500))
    await world.settle()
    assert len(world.database.asked) == 1
    assert sum(map(len, world.database.asked)) == 500
    counts = world.budgets.counts(world.now)
    assert counts.statements == 1
    assert sum(one.misses for one in counts.kinds.values()) == 1000
    assert sum(one.coalesced for one in counts.kinds.values()) == 500


async def test_one_of_all_rows_is_known_where_there_is_room_and_puts_nobody_out(world: World) -> None:
    world = type(world)(max_entries=2)
    for who, spend in (("t", 4.0), ("u", 1.0), ("v", 1.0), ("t", 5.0)):
        world.budgets.record_row(BudgetObservation(BudgetEntity.TEAM, who, told(world.now, spend, 10.0)))
    known = {who: world.budgets.known(BudgetEntity.TEAM, who) for who in "tuv"}
    assert known["v"] is None
    assert known["u"] is not None
    assert known["t"] is not None
    assert known["t"].spend == 5.0


async def test_a_value_is_fresh_for_a_while_then_told_all_the_same_and_looked_up_again(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    await world.known(*TEAM)
    world.now += world.settings.ttl * (1 - JITTER) - 0.001
    world.get(*TEAM)
    await world.settle()
    assert len(world.database.asked) == 1
    world.now += world.settings.ttl * 2 * JITTER + 0.002
    world.database.rows[TEAM] = (10.0, 5.0)
    stale = world.get(*TEAM)
    assert stale is not None
    assert stale.spend == 4.0
    await world.settle()
    fresh = world.get(*TEAM)
    assert fresh is not None
    assert fresh.spend == 5.0
    counts = world.budgets.counts(world.now).kinds[BudgetEntity.TEAM]
    assert (counts.misses, counts.hits, counts.stale) == (1, 3, 1)
    assert [budget.spend for _, _, budget in world.changes] == [4.0, 5.0]


async def test_budgets_learned_together_are_not_due_together(world: World) -> None:
    for number in range(200):
        world.database.rows[BudgetEntity.TEAM, str(number)] = (10.0, 1.0)
        world.get(BudgetEntity.TEAM, str(number))
    await world.settle()
    world.now += world.settings.ttl
    for number in range(200):
        world.get(BudgetEntity.TEAM, str(number))
    assert 40 < world.budgets.counts(world.now).kinds[BudgetEntity.TEAM].stale < 160


async def test_who_does_not_exist_is_remembered_for_longer(world: World) -> None:
    found = await world.known(*TEAM)
    assert found is not None
    assert not found.exists
    world.now += world.settings.negative_ttl * (1 - JITTER) - 0.001
    world.get(*TEAM)
    assert world.budgets.counts(world.now).kinds[BudgetEntity.TEAM].negative == 2
    world.now += world.settings.negative_ttl * 2 * JITTER + 0.002
    world.database.rows[TEAM] = (10.0, 0.0)
    found = await world.known(*TEAM)
    assert found is not None
    assert found.remaining == 10.0
    assert len(world.database.asked) == 2


async def test_a_failed_lookup_keeps_what_was_known_and_its_age_is_told(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    await world.known(*TEAM)
    learned_at = world.now
    world.now += 100.0
    world.database.error = ConnectionRefusedError("hush")
    world.get(*TEAM)
    while not world.database.dropped:
        await asyncio.sleep(0)
    found = world.get(*TEAM)
    assert found is not None
    assert found.spend == 4.0
    counts = world.budgets.counts(world.now)
    assert counts.kinds[BudgetEntity.TEAM].oldest_age_seconds == world.now - learned_at
    assert counts.failures[BudgetEntity.TEAM, Source.POSTGRES, DriverError.REFUSED] >= 1
    world.database.error = None
    world.database.rows[TEAM] = (10.0, 7.0)
    await world.settle()
    assert world.changes[-1][2].spend == 7.0


async def test_the_oldest_age_is_of_those_that_are_used(world: World) -> None:
    for number in range(3):
        world.database.rows[BudgetEntity.USER, str(number)] = (1.0, 0.0)
        await world.known(BudgetEntity.USER, str(number))
        world.now += 50.0
    assert world.budgets.counts(world.now).kinds[BudgetEntity.USER].oldest_age_seconds == 50.0
    assert world.budgets.counts(world.now).kinds[BudgetEntity.TEAM].oldest_age_seconds is None


async def test_a_request_that_tells_all_spares_the_lookup(world: World) -> None:
    world.budgets.observe(BudgetObservation(*TEAM, told(world.now, 4.0, 10.0, never_resets=True)), world.now)
    await asyncio.sleep(0)
    assert world.loader.waiting == 0
    found = world.get(*TEAM)
    assert found is not None
    assert found.remaining == 6.0
    assert world.changes == [(*TEAM, found)]


async def test_a_request_that_tells_a_part_is_filled_from_the_database(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 1.0)
    (asking,) = observations({"user_api_key_team_spend": 4.0}, RequestOwners(team="t"), world.now + 1.0)
    world.budgets.observe(asking, world.now)
    before = world.get(*TEAM)
    assert before is not None
    assert (before.spend, before.maximum, before.remaining) == (4.0, None, None)
    await world.settle()
    after = world.get(*TEAM)
    assert after is not None
    # The request is newer than what the database tells.
    assert (after.spend, after.maximum) == (4.0, 10.0)


async def test_a_request_that_tells_nothing_leaves_what_is_known(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    await world.known(*TEAM)
    world.now += 1.0
    (silent,) = observations({"user_api_key_team_alias": "x"}, RequestOwners(team="t"), world.now)
    world.budgets.observe(silent, world.now)
    found = world.get(*TEAM)
    assert found is not None
    assert (found.spend, len(world.changes)) == (4.0, 1)


async def test_an_older_word_of_the_database_does_not_overrule_a_newer_request(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    world.database.lets.clear()
    world.get(*TEAM)
    while not world.database.asked:
        await asyncio.sleep(0)
    world.now += 0.01
    world.budgets.record(BudgetObservation(*TEAM, told(world.now, 6.0)))
    world.database.lets.set()
    await world.settle()
    found = world.get(*TEAM)
    assert found is not None
    assert (found.spend, found.maximum, found.as_of) == (6.0, 10.0, world.now)


async def test_what_the_process_knows_wholly_spares_the_lookup(world: World) -> None:
    world.peeked[TEAM] = Budget(world.now, Source.PROCESS, maximum=10.0, spend=3.0, never_resets=True)
    found = world.get(*TEAM)
    assert found is not None
    assert (found.remaining, found.source) == (7.0, Source.PROCESS)
    assert world.loader.waiting == 0


async def test_what_the_process_knows_of_spend_is_used_while_the_rest_is_looked_up(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 3.0)
    await world.known(*TEAM)
    world.now += 100.0
    world.peeked[TEAM] = Budget(world.now, Source.PROCESS, spend=5.0)
    found = world.get(*TEAM)
    assert found is not None
    assert found.remaining == 5.0
    assert world.loader.waiting == 1
    await world.settle()


async def test_what_the_process_has_counted_meanwhile_is_newer_than_a_request(world: World) -> None:
    world.peeked[TEAM] = Budget(world.now, Source.PROCESS, spend=5.0)
    world.budgets.observe(BudgetObservation(*TEAM, told(world.now, 4.0, 10.0, never_resets=True)), world.now)
    found = world.get(*TEAM)
    assert found is not None
    assert (found.spend, found.maximum) == (5.0, 10.0)


async def test_requests_that_cannot_be_read_are_counted(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.budgets.record_unreadable(KeyError("sk-secret"))
    failures = world.budgets.counts(world.now).failures
    assert failures == {(kind, Source.EVENT, DriverError.ERROR): 1 for kind in LOOKED_UP}
    assert "newer litellm-evenkeel" in caplog.text
    assert "secret" not in caplog.text


async def test_a_peek_that_fails_is_counted_and_changes_nothing(world: World) -> None:
    def peek(*_: object) -> Budget:
        raise KeyError("t")

    world.budgets._peek = peek
    world.database.rows[TEAM] = (10.0, 3.0)
    found = await world.known(*TEAM)
    assert found is not None
    assert world.failures.counts[BudgetEntity.TEAM, Source.PROCESS, DriverError.ERROR] == 1


async def test_those_used_longest_ago_are_forgotten_first_and_only_of_their_kind(
    make_world: Callable[..., World],
) -> None:
    world = make_world(max_entries=3)
    for kind in (BudgetEntity.TEAM, BudgetEntity.USER):
        for number in range(3):
            await world.known(kind, str(number))
    world.get(BudgetEntity.TEAM, "0")
    await world.known(BudgetEntity.TEAM, "new")
    assert world.budgets.counts(world.now).kinds[BudgetEntity.TEAM].known == 3
    assert world.get(BudgetEntity.TEAM, "0") is not None
    assert world.get(BudgetEntity.TEAM, "1") is None
    assert world.get(BudgetEntity.USER, "0") is not None
    await world.settle()


async def test_of_providers_the_router_tells_and_nobody_is_asked(world: World) -> None:
    assert world.get(BudgetEntity.PROVIDER, "openai") is None
    world.budgets.record(BudgetObservation(BudgetEntity.PROVIDER, "openai", told(world.now, 1.0, 5.0)))
    found = world.get(BudgetEntity.PROVIDER, "openai")
    assert found is not None
    assert found.remaining == 4.0
    world.now += 1000.0
    assert world.get(BudgetEntity.PROVIDER, "openai") == found
    await asyncio.sleep(0)
    assert (world.loader.waiting, world.database.asked) == (0, [])


async def test_only_changes_are_told(world: World) -> None:
    for second in range(3):
        world.budgets.record(BudgetObservation(*TEAM, told(world.now + second, 4.0, 10.0)))
    assert len(world.changes) == 1
    world.budgets.record(BudgetObservation(*TEAM, told(world.now + 3, 4.0, 11.0)))
    assert len(world.changes) == 2


async def test_a_listener_that_fails_is_no_reason_to_stop(world: World) -> None:
    def listener(_: BudgetEntity, who: str, __: Budget) -> None:
        raise ValueError(who)

    world.budgets._listener = listener
    for number in range(3):
        world.database.rows[BudgetEntity.TEAM, str(number)] = (1.0, 0.0)
        world.get(BudgetEntity.TEAM, str(number))
    await world.settle()
    assert all(world.get(BudgetEntity.TEAM, str(number)) for number in range(3))


async def test_health_is_told_without_an_id(world: World) -> None:
    world.database.error = ConnectionRefusedError("secret-team")
    world.get(BudgetEntity.TEAM, "secret-team")
    while not world.database.dropped:
        await asyncio.sleep(0)
    told = health(world.budgets.counts(world.now))
    assert "secret" not in repr(told)
    assert told["sources"] == {"postgres": "closed"}
    (failure,) = told["lookup_failures"]
    assert (failure["entity"], failure["source"], failure["reason"]) == ("team", "postgres", "refused")
    world.database.error = None
    await world.settle()


async def test_nothing_is_looked_up_after_it_is_closed(world: World) -> None:
    await world.budgets.close()
    assert world.database.is_closed
    assert world.get(*TEAM) is None
    assert world.loader.waiting == 0


async def test_without_a_database_only_requests_tell(world: World) -> None:
    from litellm_evenkeel.budgets import open_budgets  # noqa: PLC0415 - the only test of it here

    budgets = open_budgets(
        world.settings.model_copy(update={"database": False}), world.clock, database_url=lambda: "postgresql://nowhere"
    )
    assert budgets.get(*TEAM, world.now) is None
    budgets.record(BudgetObservation(*TEAM, told(world.now, 1.0, 2.0)))
    assert budgets.get(*TEAM, world.now) is not None
    assert health(budgets.counts(world.now))["sources"] == {}
    await budgets.close()


@pytest.mark.parametrize("who", ["a\0b", "\ud800", "x" * 513])
async def test_an_id_that_no_table_can_hold_harms_nobody_else(world: World, who: str) -> None:
    world.database.rows[TEAM] = (1.0, 0.0)
    assert world.get(BudgetEntity.CUSTOMER, who) is None
    assert await world.known(*TEAM) is not None
    assert world.database.asked == [[TEAM]]
    assert world.loader.rejected == 1
