"""Record the events anew: `python -m evenkeel_lab.bench.prometheus_callback.record [VERSION]`.

Starts the whole stack with a callback that records its calls, sends every request once, anonymises the recording and
writes it to `events/VERSION.json.gz`, which the bench and its tests read. Takes a minute.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from rich.console import Console

from evenkeel_lab.bench.prometheus_callback.events import events_file, write_events
from evenkeel_lab.bench.prometheus_callback.record.anonymise import anonymised
from evenkeel_lab.bench.prometheus_callback.record.workload import Request, requests, settings
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.config import ProxySpec
from evenkeel_lab.stack.litellm.fixtures import ManagementApi, management_api
from evenkeel_lab.stack.servers.postgres import connect
from evenkeel_lab.stack.stack import Options, stack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.stack.litellm.proxy import Proxy

RECORDER = Path(__file__).with_name("recorder.py")
MODULE = "evenkeel_events"
LINES = "events.jsonl"
ANSWER_SECONDS = 60.0
# LiteLLM calls callbacks in the background, for streams after their end.
SETTLE_SECONDS = 4.0
ORGANISATION = """
INSERT INTO "LiteLLM_BudgetTable" (budget_id, max_budget, created_by, updated_by)
VALUES ('of-fleet', 500, 'lab', 'lab');
INSERT INTO "LiteLLM_OrganizationTable" (organization_id, organization_alias, budget_id, models, created_by, updated_by)
VALUES ('org-1', 'fleet', 'of-fleet', '{}', 'lab', 'lab');
UPDATE "LiteLLM_VerificationToken" SET organization_id = 'org-1' WHERE key_alias = 'organised';
"""
MOCK = {"seed": 7, "latency": {"ttft_ms": 3, "gap_ms": 1, "length": 6}, "models": ["*"]}


async def make_keys(api: ManagementApi) -> dict[str, str]:
    """Return the keys by name: with and without a team, a user, an organisation, budgets, limits."""
    month = {"max_budget": 100.0, "budget_duration": "30d"}
    crew = await api.post("/team/new", team_alias="crew", **month)
    loose = await api.post("/team/new", team_alias="loose")
    sailors = await api.post("/team/new", team_alias="sailors")
    for user in ("mate", "cook"):
        email = {"user_email": f"{user}@example.org", "user_alias": user}
        await api.post("/user/new", user_id=user, auto_create_key=False, **email, **(month if user == "mate" else {}))
    await api.post("/budget/new", budget_id="of-customers", max_budget=20.0, budget_duration="7d")
    await api.post("/customer/new", user_id="customer-of-budgeted", budget_id="of-customers")
    labels = {"metadata": {"department": "deck", "priority": "high"}}
    wanted: Mapping[str, Mapping[str, Any]] = {
        "plain": {},
        "budgeted": {"key_alias": "budgeted", "team_id": crew["team_id"], "user_id": "mate", **month, **labels},
        "team-only": {"key_alias": "team-only", "team_id": loose["team_id"]},
        "organised": {"key_alias": "organised", "team_id": sailors["team_id"]},
        "limited": {
            "key_alias": "limited",
            "user_id": "cook",
            "rpm_limit": 50_000,
            "tpm_limit": 9_000_000,
            "model_rpm_limit": {"gpt-4o-mini": 40_000},
            "model_tpm_limit": {"gpt-4o-mini": 8_000_000},
        },
        "spent": {"key_alias": "spent", "max_budget": 0.0},
        "throttled": {"key_alias": "throttled", "rpm_limit": 1},
    }
    return {name: (await api.post("/key/generate", **fields))["key"] for name, fields in wanted.items()}


async def make_organisation(proxy: Proxy) -> None:
    """Create an organisation with a budget for the key `organised`, in the database: the API needs a licence."""
    connection = await connect(proxy.services.database_url)
    try:
        await connection.execute(ORGANISATION)
    finally:
        await connection.close()


async def send(http: httpx.AsyncClient, request: Request, key: str) -> None:
    """Send one request and read its response, whatever its status is."""
    headers = {"authorization": f"Bearer {key}", **request.headers}
    try:
        async with http.stream("POST", request.path, json=dict(request.body), headers=headers) as response:
            async for _ in response.aiter_bytes():
                pass
    except httpx.TransportError:
        # A stream that breaks off at the provider breaks off here, too.
        return


async def drive(proxy: Proxy) -> None:
    """Send all requests, one after another, so that the events come in the same order each time."""
    async with management_api(proxy) as api:
        keys = {"master": proxy.master_key, "stranger": "sk-unknown-key", **await make_keys(api)}
    await make_organisation(proxy)
    async with client(seconds=ANSWER_SECONDS, base_url=proxy.url) as http:
        for request in requests():
            await send(http, request, keys[request.key])
    await asyncio.sleep(SETTLE_SECONDS)


async def record(version: str) -> Path:
    """Record the events of a LiteLLM version. Return their file."""
    steps = shown_on(Console(stderr=True))
    async with stack(Options(mock_settings=MOCK), steps=steps) as services:
        folder = services.folder / "recorder"
        folder.mkdir(mode=0o755)
        shutil.copy(RECORDER, folder / f"{MODULE}.py")
        spec = ProxySpec(version, settings=settings(services.mock.url, f"{MODULE}.recorder"))
        async with replace(services, plugin=folder).proxy(spec) as proxy:
            with steps.step("all requests"):
                await drive(proxy)
            lines = (proxy.config.parent / LINES).read_text(encoding="utf-8").splitlines()
    file = events_file(version)
    write_events(anonymised(lines), file)
    return file


if __name__ == "__main__":
    print(asyncio.run(record(sys.argv[1] if sys.argv[1:] else RECORDED)))  # noqa: T201 - the output of the command
