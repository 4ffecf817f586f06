"""Fixtures in a proxy, created through its API: a team, a user, a virtual key, and customers with a budget."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

    from evenkeel_lab.stack.litellm.proxy import Proxy

ANSWER_SECONDS = 30.0


@dataclass(frozen=True)
class Entities:
    """Ids of the fixtures. `key` is a secret."""

    team: str
    user: str
    key: str
    budget: str
    customers: tuple[str, ...]


class ManagementApi:
    """Client of a proxy's management API, with the master key."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def post(self, path: str, **body: object) -> dict[str, Any]:
        """Send a POST request and return the answer. Raise `RigFailure` if it is an error."""
        answer = await self._client.post(path, json=body)
        if answer.is_error:
            raise RigFailure(
                f"The proxy refused POST {path} with {answer.status_code}: {answer.text[:300]}.",
                hint="See the proxy's log; an unusual LiteLLM version may require other fields.",
            )
        result: dict[str, Any] = answer.json()
        return result


@contextlib.asynccontextmanager
async def management_api(proxy: Proxy) -> AsyncIterator[ManagementApi]:
    """Open a client of a proxy's management API."""
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    async with client(seconds=ANSWER_SECONDS, base_url=proxy.url, headers=headers) as opened:
        yield ManagementApi(opened)


async def create(proxy: Proxy, *, customers: int = 3, max_budget: float = 100.0) -> Entities:
    """Create all fixtures, with a budget of `max_budget` dollars each."""
    mark = uuid.uuid4().hex[:8]
    async with management_api(proxy) as api:
        team = await api.post("/team/new", team_alias=f"team-{mark}", max_budget=max_budget, budget_duration="30d")
        user = await api.post(
            "/user/new", user_id=f"user-{mark}", max_budget=max_budget, budget_duration="30d", auto_create_key=False
        )
        await api.post("/team/member_add", team_id=team["team_id"], member={"role": "user", "user_id": user["user_id"]})
        key = await api.post(
            "/key/generate",
            key_alias=f"key-{mark}",
            team_id=team["team_id"],
            user_id=user["user_id"],
            max_budget=max_budget,
            budget_duration="30d",
        )
        budget = await api.post("/budget/new", budget_id=f"budget-{mark}", max_budget=max_budget)
        ids = tuple(f"customer-{mark}-{number}" for number in range(customers))
        for identity in ids:
            await api.post("/customer/new", user_id=identity, budget_id=budget["budget_id"])
    return Entities(team["team_id"], user["user_id"], key["key"], budget["budget_id"], ids)


async def remove(proxy: Proxy, entities: Entities) -> None:
    """Delete the fixtures, because the database may be the user's own."""
    everything: dict[str, dict[str, object]] = {
        "/key/delete": {"keys": [entities.key]},
        "/customer/delete": {"user_ids": list(entities.customers)},
        "/budget/delete": {"id": entities.budget},
        "/user/delete": {"user_ids": [entities.user]},
        "/team/delete": {"team_ids": [entities.team]},
    }
    async with management_api(proxy) as api:
        for path, body in everything.items():
            # If one is deleted already, the others must still be deleted.
            with contextlib.suppress(RigFailure):
                await api.post(path, **body)
