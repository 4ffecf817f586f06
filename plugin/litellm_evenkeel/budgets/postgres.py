"""Budget source that reads LiteLLM's own tables: one statement for all kinds, on connections of its own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import asyncpg

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source, absent
from litellm_evenkeel.budgets.request_metadata import number
from litellm_evenkeel.support.postgres import arguments, check_listening, is_pooled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.budgets.budget import Entity

# The timestamp columns have no zone and mean UTC, so `extract(epoch ...)` is correct without a conversion.
STATEMENT = """
SELECT 'key', token, spend, max_budget, extract(epoch FROM budget_reset_at)::float8, key_alias, NULL
FROM "LiteLLM_VerificationToken" WHERE token = ANY($1::text[])
UNION ALL
SELECT 'team', team_id, spend, max_budget, extract(epoch FROM budget_reset_at)::float8, team_alias, NULL
FROM "LiteLLM_TeamTable" WHERE team_id = ANY($2::text[])
UNION ALL
SELECT 'user', user_id, spend, max_budget, extract(epoch FROM budget_reset_at)::float8, user_alias, user_email
FROM "LiteLLM_UserTable" WHERE user_id = ANY($3::text[])
UNION ALL
SELECT 'org', org.organization_id, org.spend, budget.max_budget, extract(epoch FROM budget.budget_reset_at)::float8,
    org.organization_alias, NULL
FROM "LiteLLM_OrganizationTable" AS org
LEFT JOIN "LiteLLM_BudgetTable" AS budget ON budget.budget_id = org.budget_id
WHERE org.organization_id = ANY($4::text[])
UNION ALL
SELECT 'customer', customer.user_id, customer.spend, budget.max_budget,
    extract(epoch FROM budget.budget_reset_at)::float8, customer.alias, NULL
FROM "LiteLLM_EndUserTable" AS customer
LEFT JOIN "LiteLLM_BudgetTable" AS budget ON budget.budget_id = coalesce(customer.budget_id, $6::text)
WHERE customer.user_id = ANY($5::text[])
"""
KINDS = (BudgetEntity.KEY, BudgetEntity.TEAM, BudgetEntity.USER, BudgetEntity.ORG, BudgetEntity.CUSTOMER)
"""Kinds of entities in the database, in the order of the statement's parameters."""
# Below one second, within which an unreachable server must be noticed.
CONNECT_TIMEOUT_SECONDS = 0.9
CANCEL_GRACE_SECONDS = 0.2
MAX_IDLE_SECONDS = 300.0
UNSUPPORTED_PARAMETER_STATE = "08P01"


class PostgresBudgets:
    """Driver for the tables of LiteLLM's database. Use it from one task at a time.

    `url` is called for every connection, because passwords may rotate. The server cancels statements that take longer
    than `timeout` seconds, and the client gives up shortly after. Statements are not prepared under a name, so that a
    pooler such as PgBouncer may be in between. Where the pooler refuses session parameters, the timeout is set in each
    transaction instead.
    """

    def __init__(
        self,
        url: Callable[[], str],
        clock: Callable[[], float],
        *,
        timeout: float = 0.5,
        connections: int = 2,
        default_budget: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._url, self._clock, self._timeout = url, clock, timeout
        self._timeout_milliseconds = max(int(timeout * 1000), 1)
        self._connections, self._default_budget = max(connections, 1), default_budget
        self._pool: Any = None
        self._is_pooled = False

    @property
    def total_timeout(self) -> float:
        """Upper bound in seconds for one lookup with a new connection. A longer one hangs where no timeout applies."""
        return 2 * CONNECT_TIMEOUT_SECONDS + self._timeout + 2 * CANCEL_GRACE_SECONDS

    def is_ready(self) -> bool:
        """Return `True`: `fetch` connects by itself."""
        return True

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return the budget of each entity. An entity without a row does not exist."""
        # The time before the query, so that observations made during it count as newer.
        as_of = self._clock()
        budgets = {entity: absent(as_of, Source.POSTGRES) for entity in entities}
        ids = [[entity_id for kind, entity_id in entities if kind is wanted] for wanted in KINDS]
        if any(ids):
            for row in await self._query([*ids, self._default_budget()]):
                budgets[BudgetEntity(row[0]), row[1]] = _budget(row, as_of)
        return budgets

    def drop(self) -> None:
        """Terminate all connections. The next lookup opens new ones."""
        pool, self._pool = self._pool, None
        if pool:
            pool.terminate()

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool:
            await pool.close()

    async def _query(self, values: list[Any]) -> list[Any]:
        if self._pool is None:
            self._pool = await asyncpg.create_pool(
                min_size=0,
                max_size=self._connections,
                max_inactive_connection_lifetime=MAX_IDLE_SECONDS,
                connect=self._connect,
                reset=_skip_reset,
            )
        pool = self._pool
        connection = await pool.acquire()
        try:
            async with asyncio.timeout(self._timeout + CANCEL_GRACE_SECONDS):
                if not self._is_pooled:
                    return list(await connection.fetch(STATEMENT, *values))
                async with connection.transaction(readonly=True):
                    await connection.execute(f"SET LOCAL statement_timeout = {self._timeout_milliseconds}")
                    return list(await connection.fetch(STATEMENT, *values))
        except BaseException:
            # Releasing a busy connection would wait until the server has handled the cancellation. A connection that
            # the server closed has been released already, which raises InterfaceError.
            with contextlib.suppress(asyncpg.InterfaceError):
                connection.terminate()
            raise
        finally:
            await pool.release(connection)

    async def _connect(self, *_: Any, **pool_arguments: Any) -> Any:
        session = {"default_transaction_read_only": "on", "statement_timeout": str(self._timeout_milliseconds)}
        self._is_pooled = self._is_pooled or is_pooled(self._url())
        if not self._is_pooled:
            try:
                return await self._open_connection(session, pool_arguments)
            except asyncpg.PostgresError as error:
                if error.sqlstate != UNSUPPORTED_PARAMETER_STATE:
                    raise
        connection = await self._open_connection({}, pool_arguments)
        self._is_pooled = True
        return connection

    async def _open_connection(self, session: dict[str, str], pool_arguments: dict[str, Any]) -> Any:
        url = self._url()
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            await check_listening(url)
            address = arguments(url)
            application = {"application_name": "litellm-evenkeel budgets"} if session else {}
            server_settings = {**application, **address["server_settings"], **session}
            return await asyncpg.connect(
                **{**pool_arguments, **address, "server_settings": server_settings},
                timeout=CONNECT_TIMEOUT_SECONDS,
                statement_cache_size=0,
            )


async def _skip_reset(_: Any) -> None:
    """Skip asyncpg's reset statement after each query: read-only queries leave no session state."""


def _budget(row: Any, as_of: float) -> Budget:
    _, _, spend, maximum, resets_at, alias, email = row
    return Budget(
        as_of=as_of,
        source=Source.POSTGRES,
        maximum=number(maximum),
        spend=number(spend),
        resets_at=number(resets_at),
        alias=alias,
        email=email,
        is_unlimited=maximum is None,
        never_resets=resets_at is None,
    )
