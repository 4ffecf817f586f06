"""Budgets in LiteLLM's own tables, which are only read: one statement for all kinds, on connections of its own."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import TYPE_CHECKING, Any

import asyncpg

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source, absent
from litellm_evenkeel.support.postgres import arguments, check_listening, is_pooled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.budgets.budget import Entity

# The columns hold moments without a zone, and mean UTC: an epoch of those is one since 1970 in UTC.
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
TABLES = (BudgetEntity.KEY, BudgetEntity.TEAM, BudgetEntity.USER, BudgetEntity.ORG, BudgetEntity.CUSTOMER)
"""The kinds that it knows, in the order in which the statement wants their ids."""
# Together within the second in which it is to be known that a server is gone.
CONNECT_SECONDS = 0.9
BEYOND_SERVER_SECONDS = 0.2
IDLE_SECONDS = 300.0
UNSUPPORTED_PARAMETER = "08P01"


class PostgresBudgets:
    """Reads them in the database of an address, which is read anew for each connection: passwords may rotate.

    The server cancels what takes longer than `timeout`, and we give it up a little later. No statement is prepared
    under a name, so that a pooler such as PgBouncer may stand between; where one refuses what is set for a session,
    it is set for each transaction. Use it from one task at a time.
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
        self._connections, self._default_budget = max(connections, 1), default_budget
        self._pool: Any = None
        self._is_pooled = False

    @property
    def patience(self) -> float:
        """After so long, it has failed in some way that it should have noticed itself."""
        return 2 * CONNECT_SECONDS + self._timeout + 2 * BEYOND_SERVER_SECONDS

    def is_ready(self) -> bool:
        """Whether it may be asked: it connects when it is."""
        return True

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return what is known of each; who is not there does not exist."""
        # Before it is asked: what happens meanwhile is newer.
        as_of = self._clock()
        found = {entity: absent(as_of, Source.POSTGRES) for entity in entities}
        ids = [[who for kind, who in entities if kind is one] for one in TABLES]
        if any(ids):
            for row in await self._rows([*ids, self._default_budget()]):
                found[BudgetEntity(row[0]), row[1]] = _budget(row, as_of)
        return found

    def drop(self) -> None:
        """Let go of the connections; the next question opens new ones."""
        pool, self._pool = self._pool, None
        if pool:
            pool.terminate()

    async def close(self) -> None:
        """Let go of the server."""
        pool, self._pool = self._pool, None
        if pool:
            await pool.close()

    async def _rows(self, values: list[Any]) -> list[Any]:
        if self._pool is None:
            self._pool = await asyncpg.create_pool(
                min_size=0,
                max_size=self._connections,
                max_inactive_connection_lifetime=IDLE_SECONDS,
                connect=self._connect,
                reset=_nothing_to_reset,
            )
        pool = self._pool
        connection = await pool.acquire()
        try:
            async with asyncio.timeout(self._timeout + BEYOND_SERVER_SECONDS):
                rows = await self._asked(connection, values)
        except BaseException:
            # Given back as it is, it would be waited for until the server has heard that nobody waits for it. One that
            # the server has closed was given back already.
            with contextlib.suppress(asyncpg.InterfaceError):
                connection.terminate()
            raise
        finally:
            await pool.release(connection)
        return rows

    async def _asked(self, connection: Any, values: list[Any]) -> list[Any]:
        if not self._is_pooled:
            return list(await connection.fetch(STATEMENT, *values))
        async with connection.transaction(readonly=True):
            await connection.execute(f"SET LOCAL statement_timeout = {self._milliseconds}")
            return list(await connection.fetch(STATEMENT, *values))

    @property
    def _milliseconds(self) -> int:
        return max(int(self._timeout * 1000), 1)

    async def _connect(self, *_: Any, **asked: Any) -> Any:
        safe = {"default_transaction_read_only": "on", "statement_timeout": str(self._milliseconds)}
        self._is_pooled = self._is_pooled or is_pooled(self._url())
        if not self._is_pooled:
            try:
                return await self._connected(safe, asked)
            except asyncpg.PostgresError as error:
                if error.sqlstate != UNSUPPORTED_PARAMETER:
                    raise
        connection = await self._connected({}, asked)
        self._is_pooled = True
        return connection

    async def _connected(self, safe: dict[str, str], asked: dict[str, Any]) -> Any:
        url = self._url()
        async with asyncio.timeout(CONNECT_SECONDS):
            await check_listening(url)
            told = arguments(url)
            named = {"application_name": "litellm-evenkeel budgets"} if safe else {}
            return await asyncpg.connect(
                **{**asked, **told, "server_settings": {**named, **told["server_settings"], **safe}},
                timeout=CONNECT_SECONDS,
                statement_cache_size=0,
            )


async def _nothing_to_reset(_: Any) -> None:
    """Spare the server a statement after each of ours, which change nothing."""


def _budget(row: Any, as_of: float) -> Budget:
    _, _, spend, maximum, resets_at, alias, email = row
    return Budget(
        as_of=as_of,
        source=Source.POSTGRES,
        maximum=_finite(maximum),
        spend=_finite(spend),
        resets_at=_finite(resets_at),
        alias=alias,
        email=email,
        is_unlimited=maximum is None,
        never_resets=resets_at is None,
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
