"""Users whom a database knows before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.runner.measurement.user_seeding import seed_users
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.servers.postgres import connect
from evenkeel_load.entities import user_ids
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from evenkeel_lab.stack.stack import Stack

COUNT = 'SELECT count(*) FROM "LiteLLM_EndUserTable" WHERE user_id = ANY($1)'
REMOVE = 'DELETE FROM "LiteLLM_EndUserTable" WHERE user_id = ANY($1)'


async def test_who_is_created_is_there_and_nobody_else(below: Stack) -> None:
    url = (await below.services(DEFAULT_VERSION)).database_url
    options = {"requests_per_user": 0, "duration": 5.0}
    created = make_plan(SCENARIOS["chat"], 3, "off", options | {"user_mode": "created"})
    ids = user_ids(created)
    assert len(ids) == 3
    connection = await connect(url)
    try:
        everybody = await connection.fetchval('SELECT count(*) FROM "LiteLLM_EndUserTable"')
        # The same seed, and so the same users, once more: they are there already.
        for _ in range(2):
            await seed_users(url, created)
        await seed_users(url, make_plan(SCENARIOS["chat"], 3, "off", options | {"user_mode": "random"}))
        await seed_users(None, created)
        assert await connection.fetchval(COUNT, ids) == 3
        assert await connection.fetchval('SELECT count(*) FROM "LiteLLM_EndUserTable"') == everybody + 3
    finally:
        await connection.execute(REMOVE, ids)
        await connection.close()
