"""A search for secrets in all outputs of the plugin, after requests and errors of the provider that contain them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
from redis.asyncio import Redis

from evenkeel_lab.chaos.watch import is_of_plugin
from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.results.chaos_results import Sweep
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.fixtures import management_api

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from evenkeel_lab.chaos.rig import Rig, Subject

KEYS, PHRASES, SESSIONS = 20, 10, 8
ANSWER_SECONDS = 30.0
MARK = "recognisable"
# Errors of the provider. Most of them contain the account's key and the prompt.
PROVIDER_ERRORS = ("status=401,echo=1", "status=429,retry_after=1,echo=1", "status=500,echo=1", "malformed", "reset=1")
# Each line of LiteLLM's log begins with a time or a level. Other lines belong to the one before.
BEGINNING = re.compile(r"^(\d|INFO|WARNING|ERROR|CRITICAL|DEBUG|\x1b|\{|\[)")


@dataclass(frozen=True)
class Secret:
    """A text that must not be found anywhere."""

    kind: str
    text: str


async def sweep(rig: Rig) -> Sweep:
    """Send secrets, and look for them in all outputs."""
    secrets = await plant(rig)
    texts = await outputs(rig)
    return Sweep(
        secrets=len(secrets),
        kinds=len({secret.kind for secret in secrets}),
        outputs=list(texts),
        leaks=leaks(secrets, texts),
    )


async def plant(rig: Rig) -> list[Secret]:
    """Send requests with secrets of all kinds, also while the provider fails, and return the secrets."""
    subject = rig.plugin
    phrases = [f"{MARK}-phrase-{number}-{os.urandom(6).hex()}" for number in range(PHRASES)]
    sessions = [f"{MARK}-session-{number}-{os.urandom(6).hex()}" for number in range(SESSIONS)]
    async with management_api(subject.proxy) as api:
        keys = [(await api.post("/key/generate", max_budget=10.0))["key"] for _ in range(KEYS)]
    for number in range(2 * len(PROVIDER_ERRORS) * max(1, KEYS // len(PROVIDER_ERRORS))):
        # Every other request fails. Accounts that fail are not used any more, but others meet the error then.
        fault = PROVIDER_ERRORS[number // 2 % len(PROVIDER_ERRORS)] if number % 2 else ""
        headers = {
            "authorization": f"Bearer {keys[number % KEYS]}",
            "x-session-id": sessions[number % SESSIONS],
            **({"x-mock-fault": fault} if fault else {}),
        }
        body = {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": phrases[number % PHRASES]}],
            "stream": number % 3 == 0,
            "extra_headers": {"x-mock-fault": fault} if fault else {},
        }
        async with client(seconds=ANSWER_SECONDS, headers=headers) as sending:
            await sending.post(f"{subject.proxy.url}/v1/chat/completions", json=body)
    return [
        *(Secret("client's key", key) for key in [*keys, subject.key]),
        *(Secret("account's key", account.key) for account in subject.proxy.spec.accounts),
        Secret("master key", subject.proxy.master_key),
        Secret("password of Postgres", str(urlsplit(subject.proxy.services.database_url).password)),
        Secret("password of Redis", str(urlsplit(subject.proxy.services.redis_url).password)),
        *(Secret("prompt", phrase) for phrase in phrases),
        *(Secret("session id", session) for session in sessions),
    ]


async def outputs(rig: Rig) -> dict[str, str]:
    """Return everything that the plugin has written, and its answers to admins and clients."""
    subject = rig.plugin
    return {
        "lines of the log that come from the plugin": _plugin_lines(subject),
        "process list": _process_list(),
        **await _routes(subject),
        **_files(subject),
        **await _commands(subject),
        "Redis": await _redis(rig),
    }


def leaks(secrets: list[Secret], texts: dict[str, str]) -> list[str]:
    """Return what was found where, once for each kind of secret and output."""
    return [
        f"{kind} in {output}"
        for output, text in texts.items()
        for kind in dict.fromkeys(secret.kind for secret in secrets if secret.text in text)
    ]


def _process_list() -> str:
    return "\n".join(" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


def _plugin_lines(subject: Subject) -> str:
    log = subject.proxy.info.log
    assert log is not None
    return "\n".join(filter(is_of_plugin, log_records(log.read_text(errors="replace"))))


def log_records(text: str) -> list[str]:
    """Return the records of a log, stack traces included."""
    records: list[str] = []
    for line in text.splitlines():
        if records and not BEGINNING.match(line):
            records[-1] += f"\n{line}"
        else:
            records.append(line)
    return records


async def _routes(subject: Subject) -> dict[str, str]:
    own = {"authorization": f"Bearer {subject.proxy.master_key}"}
    foreign = {"authorization": f"Bearer {subject.key}"}
    texts = {}
    async with client(seconds=ANSWER_SECONDS, base_url=subject.proxy.url, follow_redirects=True) as asking:

        async def ask(
            name: str, method: str, path: str, headers: dict[str, str], *, is_error: bool = False, **options: Any
        ) -> None:
            response = await asking.request(method, path, headers=headers, **options)
            if response.is_error != is_error:
                raise RigFailure(f"{method} {path} returned {response.status_code}.", hint="See the proxy's log.")
            texts[name] = _whole(response)

        await ask("/metrics", "GET", "/metrics", own)
        await ask("/evenkeel/metrics", "GET", "/evenkeel/metrics", own)
        await ask("/evenkeel/accounts", "GET", "/evenkeel/accounts", own)
        await ask("/evenkeel/explain", "GET", "/evenkeel/explain?model=gpt-4o-mini&session=s", own)
        await ask("/evenkeel/budgets/health", "GET", "/evenkeel/budgets/health", own)
        await ask("/evenkeel/journal/health", "GET", "/evenkeel/journal/health", own)
        await ask("release", "POST", "/evenkeel/accounts/account-0/release", own)
        await ask("control", "POST", "/evenkeel/accounts/account-0/weight?value=1&reason=a+sweep", own)
        await ask("live page", "GET", "/evenkeel/", {})
        await ask("error of an unknown account", "POST", "/evenkeel/accounts/unknown/release", own, is_error=True)
        await ask("error of a wrong parameter", "GET", "/evenkeel/explain?modle=x", own, is_error=True)
        await ask("error without an admin's key", "GET", "/evenkeel/accounts", foreign, is_error=True)
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "ahoy"}]}
        await ask("response to a client", "POST", "/v1/chat/completions", foreign, json=body)
    return texts


def _whole(response: httpx.Response) -> str:
    return "\n".join([*(f"{name}: {value}" for name, value in response.headers.items()), response.text])


def _files(subject: Subject) -> dict[str, str]:
    journal = subject.proxy.journal
    assert journal is not None
    files = [path for path in journal.parent.glob(f"{journal.name}*") if path.is_file()]
    folder = subject.proxy.config.parent / "prometheus"
    return {
        "file of the journal": _text(files),
        "files of the metrics": _text([path for path in folder.rglob("*") if path.is_file()]),
    }


def _text(files: list[Path]) -> str:
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


async def _commands(subject: Subject) -> dict[str, str]:
    """Return the output of commands that an administrator runs."""
    proxy = ["--url", subject.proxy.url]
    commands = {
        "evenkeel accounts": ["accounts", *proxy],
        "evenkeel explain": ["explain", "gpt-4o-mini", *proxy],
        "evenkeel journal tail": ["journal", "tail", str(subject.proxy.journal)],
        "evenkeel journal stats": ["journal", "stats", str(subject.proxy.journal)],
        "evenkeel journal actions": ["journal", "actions", str(subject.proxy.journal)],
        "evenkeel doctor": ["doctor", "--config", str(subject.proxy.config)],
    }
    environment = {**os.environ, "LITELLM_MASTER_KEY": subject.proxy.master_key, "COLUMNS": "200"}
    return {name: await _output(arguments, environment) for name, arguments in commands.items()}


async def _output(arguments: list[str], environment: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "evenkeel_lab",
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode(errors="replace")
    # `evenkeel doctor` ends with 1 if it finds something.
    if process.returncode not in {0, 1}:
        raise RigFailure(f"evenkeel {arguments[0]} ended with {process.returncode}.", hint=text[-300:])
    return text


async def _value(opened: Any, key: bytes, kind: str) -> object:
    match kind:
        case "string":
            return await opened.get(key)
        case "hash":
            return await opened.hgetall(key)
        case "zset":
            return await opened.zrange(key, 0, -1)
        case "list":
            return await opened.lrange(key, 0, -1)
        case "set":
            return await opened.smembers(key)
    raise RigFailure(f"The value of {key!r} is a {kind}, which is not searched.", hint="Search it too.")


async def _redis(rig: Rig) -> str:
    """Return all keys and values of the plugin in Redis."""
    url = rig.redis_url_of(rig.plugin)
    texts: list[Any] = []
    opened: Any
    async with Redis.from_url(url) as opened:
        async for key in opened.scan_iter("*evenkeel*"):
            kind = str(await opened.type(key), "ascii")
            texts.append([repr(key), repr(await _value(opened, key, kind))])
    return json.dumps(texts)
