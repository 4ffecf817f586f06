"""End-to-end check of the plugin in a real proxy: all callbacks, and three accounts, one of which has a revoked key."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_lab.compat.outcome import Check
from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.accounts import Account, mock_settings
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stack.litellm.proxy import READY_SECONDS
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Command, running, until_ready
from evenkeel_lab.stack.servers.mock import answers, mock
from evenkeel_lab.stack.yaml_file import write_yaml

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from evenkeel_lab.compat.environments import Installed

CALLBACKS = tuple(
    f"litellm_evenkeel.proxy.{name}" for name in ("rotation", "prometheus", "gc_freeze", "journal", "lean")
)
ACCOUNTS = tuple(Account(name, 100_000) for name in ("alive", "also-alive", "dead"))
DEAD = "dead"
EXPECTED = {"alive": "healthy", "also-alive": "healthy", DEAD: "quarantined"}
REQUESTS, AT_ONCE, RETRIES = 60, 4, 3
# LiteLLM does not count requests that were served after an attempt with a bad key: it takes the client's key for it.
LEAST_COUNTED = REQUESTS - AT_ONCE
STOP_SECONDS, ANSWER_SECONDS = 30.0, 30.0
COUNTED_SECONDS, POLL_SECONDS = 20.0, 0.2
COUNTED, ERRORS = "litellm_proxy_total_requests_metric_total", r"evenkeel_\w*plugin_errors_total"
MOST_DETAILS = 300
BOOTS, SERVES, METRICS, SHOWS, ROWS = (
    "it boots",
    "no request fails",
    "/metrics",
    "/evenkeel/accounts",
    "a journal row each",
)


async def run_checks(installed: Installed, folder: Path, logs: Path) -> tuple[Check, ...]:
    """Run a proxy with the plugin, send requests, and return the results of all checks."""
    folder.mkdir(parents=True, exist_ok=True)
    provided = mock_settings(ACCOUNTS)
    for account in provided["accounts"]:
        if account["name"] == DEAD:
            account["revoked"] = True
    key, journal = "sk-" + secrets.token_hex(24), folder / "journal.sqlite"
    async with mock(folder, logs, settings={"latency": {"ttft_ms": 1, "length": 4}, **provided}) as below:
        config = folder / "config.yaml"
        write_yaml(configuration(f"{below.url}/v1", journal), config)
        try:
            async with proxy(installed, config, key, logs) as url:
                checks = [Check(name=BOOTS, ok=True), *await _check_requests(url, key)]
        except ProcessFailed as error:
            return (Check(name=BOOTS, ok=False, details=_last_error(error.details) or error.what),)
    # After the end of the proxy, which writes the last records.
    return (*checks, _check_journal(journal))


def configuration(api_base: str, journal: Path) -> dict[str, Any]:
    """Return the YAML of the proxy."""
    return {
        "model_list": [account.deployment(MODEL, api_base) for account in ACCOUNTS],
        "litellm_settings": {"callbacks": list(CALLBACKS)},
        "router_settings": {"num_retries": RETRIES},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"},
        "evenkeel": {"journal": {"store": "sqlite", "path": str(journal)}},
    }


@contextlib.asynccontextmanager
async def proxy(
    installed: Installed, config: Path, key: str, logs: Path, env: Mapping[str, str] | None = None
) -> AsyncIterator[str]:
    """Run a proxy without a database, with `env` in addition. Yield its address once it serves requests."""
    home, port = config.parent, free_port()
    command = Command(
        f"LiteLLM {installed.version}",
        [
            installed.python,
            installed.command,
            "--config",
            config,
            "--host",
            LOOPBACK,
            "--port",
            str(port),
        ],
        log=logs / f"litellm-{installed.version}.log",
        env={
            "PATH": os.pathsep.join([str(installed.python.parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "LITELLM_MASTER_KEY": key,
            "LITELLM_SALT_KEY": key,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            **(env or {}),
        },
        cwd=home,
        folder=home,
        grace=STOP_SECONDS,
    )
    url = f"http://{LOOPBACK}:{port}"
    async with running(command) as child:
        await until_ready(child, lambda: answers(f"{url}/health/readiness"), READY_SECONDS)
        yield url


async def _check_requests(url: str, key: str) -> list[Check]:
    async with client(seconds=ANSWER_SECONDS, base_url=url, headers={"Authorization": f"Bearer {key}"}) as asking:
        failed = await _send_requests(asking)
        return [
            Check(name=SERVES, ok=not failed, details="; ".join(sorted(set(failed)))[:MOST_DETAILS]),
            await _check_metrics(asking),
            await _check_accounts(asking),
        ]


async def _check_metrics(asking: httpx.AsyncClient) -> Check:
    """Scrape until all requests are counted, which happens after their responses."""
    counted, gives_up_at = 0.0, time.monotonic() + COUNTED_SECONDS
    while counted < LEAST_COUNTED:
        scraped = await asking.get("/metrics/")
        counted = _sum(scraped.text, COUNTED)
        if not scraped.is_success or time.monotonic() > gives_up_at:
            details = _describe(scraped) or f"{counted:.0f} of {REQUESTS} requests counted"
            return Check(name=METRICS, ok=False, details=details)
        await asyncio.sleep(POLL_SECONDS)
    errors = _sum(scraped.text, ERRORS)
    return Check(name=METRICS, ok=not errors, details=f"{errors:.0f} errors of the plugin" if errors else "")


def _sum(scrape: str, name: str) -> float:
    values = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", scrape, re.MULTILINE)
    return sum(map(float, values))


async def _check_accounts(asking: httpx.AsyncClient) -> Check:
    """Check that the rotation picked an account for each request, and quarantined the one with the revoked key."""
    shown = await asking.get("/evenkeel/accounts")
    if not shown.is_success:
        return Check(name=SHOWS, ok=False, details=_describe(shown))
    accounts = {account["account"]: account for account in shown.json()["accounts"]}
    picks = sum(sum(account["picks"].values()) for account in accounts.values())
    states = {name: account["state"] for name, account in accounts.items()}
    if states == EXPECTED and picks >= REQUESTS:
        return Check(name=SHOWS, ok=True)
    shown_states = ", ".join(f"{name} {state}" for name, state in states.items())
    return Check(name=SHOWS, ok=False, details=f"{picks} picks; {shown_states or 'no accounts'}")


async def _send_requests(asking: httpx.AsyncClient) -> list[str]:
    """Send all requests. Return the errors of those that failed."""
    free = asyncio.Semaphore(AT_ONCE)

    async def ask(number: int) -> str | None:
        body = {"model": MODEL, "messages": [{"role": "user", "content": f"number {number}"}]}
        async with free:
            try:
                answer = await asking.post("/v1/chat/completions", json=body)
            except httpx.HTTPError as error:
                return repr(error)
        return None if answer.is_success else _describe(answer)

    return [error for error in await asyncio.gather(*map(ask, range(REQUESTS))) if error is not None]


def _describe(answer: httpx.Response) -> str:
    return "" if answer.is_success else f"{answer.status_code}: {answer.text[:200]}"


def _check_journal(journal: Path) -> Check:
    if not journal.exists():
        return Check(name=ROWS, ok=False, details="there is no journal")
    with contextlib.closing(sqlite3.connect(journal)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM evenkeel_journal WHERE status = 200").fetchone()
    return Check(name=ROWS, ok=rows == REQUESTS, details="" if rows == REQUESTS else f"{rows} of {REQUESTS}")


def _last_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "Error" in line]
    return lines[-1].strip()[:MOST_DETAILS] if lines else ""
