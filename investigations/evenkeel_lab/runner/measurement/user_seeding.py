"""Users that a proxy knows, before a run: put into its database, not through it, so that it has done nothing for them.

Through its API, it would be warm when it is to be met cold, and what it costs would be counted with the requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.stack.servers.postgres import connect
from evenkeel_load.entities import user_ids

if TYPE_CHECKING:
    from evenkeel_load.plan import Plan

INSERT = 'INSERT INTO "LiteLLM_EndUserTable" (user_id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING'


async def seed_users(database_url: str | None, plan: Plan) -> None:
    """Put there whom a load takes for known; nobody else."""
    ids = user_ids(plan)
    if not ids or database_url is None:
        return
    connection = await connect(database_url)
    try:
        await connection.execute(INSERT, ids)
    finally:
        await connection.close()
