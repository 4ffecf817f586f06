"""Create the known users of a run directly in the proxy's database.

Creating them through the proxy's API would warm up a proxy that is to be measured cold, and count as cost of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.stack.servers.postgres import connect
from evenkeel_load.entities import user_ids

if TYPE_CHECKING:
    from evenkeel_load.plan import Plan

INSERT = 'INSERT INTO "LiteLLM_EndUserTable" (user_id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING'


async def seed_users(database_url: str | None, plan: Plan) -> None:
    """Insert the end users that a load expects to exist."""
    ids = user_ids(plan)
    if not ids or database_url is None:
        return
    connection = await connect(database_url)
    try:
        await connection.execute(INSERT, ids)
    finally:
        await connection.close()
