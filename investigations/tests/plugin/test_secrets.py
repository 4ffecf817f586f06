"""No key appears in logs, errors or the state of the rotation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import generate_latest

from evenkeel_lab.stack.litellm.accounts import mock_settings
from litellm_evenkeel.support import error_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from conftest import Rig

pytestmark = pytest.mark.filterwarnings("ignore")

KEYS = {name: f"sk-recognisable-{name}-0123456789" for name in "abcd"}
CLIENT = "sk-client-recognisable-9876543210"
SECRETS = (*KEYS.values(), CLIENT, "recognisable", "hush-of-the-server")
FAULTS = ("status=401", "status=403", "status=429,retry_after=1", "status=500", "malformed", "reset=0")


def kept(root: object, foreign: set[int]) -> Iterator[object]:
    """Yield everything that is reached from an object of ours, but for what LiteLLM handed in."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or id(one) in foreign:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset) or type(one).__name__ in {"deque", "odict_values"}:
            waiting += list(one)
        elif type(one).__module__.startswith("litellm_evenkeel"):
            waiting += [getattr(one, name) for kind in type(one).__mro__ for name in slots(kind) if hasattr(one, name)]
            waiting += list(getattr(one, "__dict__", {}).values())


def slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)


def found(root: object, foreign: set[int]) -> list[str]:
    """Return what tells a secret of all that is kept."""
    return [
        f"{type(one).__name__}: {told[:200]}"
        for one in kept(root, foreign)
        if isinstance(one, str | bytes) or type(one).__module__.startswith("litellm_evenkeel")
        for told in (repr(one), str(one))
        if any(secret in told for secret in SECRETS)
    ]


def deployments(rig: Rig, **about: Any) -> list[Any]:
    made = [rig.deployment(name, params={"api_key": key}, **about) for name, key in KEYS.items()]
    for one in made:
        # Accounts without a name of an operator's are known by a hash.
        one["model_info"].pop("account")
    return made


async def ask(rig: Rig, **request: Any) -> str:
    """Send a request, and return the client's error."""
    told = {
        # What custom authentication may leave there.
        "metadata": {"user_api_key": CLIENT, "session_id": "s"},
        "proxy_server_request": {"headers": {"authorization": f"Bearer {CLIENT}", "x-api-key": CLIENT}},
    }
    try:
        answer = await rig.ask(**told, **request)
        if request.get("stream"):
            _ = [chunk async for chunk in answer]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
        return f"{error!r} {error}" if "evenkeel" in str(error) else ""
    return ""


@pytest.fixture
async def known(rig: Rig) -> AsyncIterator[None]:
    """Make the keys valid for a while."""
    accounts = [{"name": name, "key": key} for name, key in KEYS.items()]
    (await rig.client.post("/_mock/accounts", json=accounts)).raise_for_status()
    yield
    (await rig.client.post("/_mock/accounts", json=mock_settings(rig.accounts)["accounts"])).raise_for_status()


async def test_the_search_would_find_one(rig: Rig) -> None:
    rig.start(deployments(rig))
    await ask(rig)
    foreign = {id(one) for one in rig.router.model_list}
    place = next(iter(rig.account_router.pool.deployments.values()))
    for where, name in ((place.account.cooldown, "reason"), (rig.rotation, "note"), (place.account, "scope_key")):
        before = getattr(where, name, "")
        setattr(where, name, f"invalid key {KEYS['a']}")
        assert found(rig.rotation, foreign)
        setattr(where, name, before)
    assert found(rig.rotation, foreign) == []


@pytest.mark.usefixtures("known")
async def test_no_key_is_told(rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_log, "LOG_INTERVAL_SECONDS", 0.0)
    told: list[str] = []
    with caplog.at_level(logging.DEBUG, "litellm_evenkeel"):
        for fault in FAULTS:
            rig.start(deployments(rig), num_retries=3)
            await rig.fails(a=fault, b=fault, c=fault)
            told += [await ask(rig, stream=stream) for stream in (False, True)]
            await asyncio.sleep(0.05)
            foreign = {id(one) for one in rig.router.model_list}
            assert found(rig.rotation, foreign) == [], fault
            told.append(generate_latest(rig.registry).decode())
        await rig.fails()
        rig.start(deployments(rig, limits={"rpm": 1}))
        told += [await ask(rig) for _ in range(6)]
        assert any("no account" in one for one in told)
        assert found(rig.rotation, {id(one) for one in rig.router.model_list}) == []
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("litellm_evenkeel")]
    assert not [one for one in (*told, *logged) if any(secret in one for secret in SECRETS)]


async def test_no_error_of_ours_tells_what_it_was_about(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_log, "LOG_INTERVAL_SECONDS", 0.0)
    rig.start(deployments(rig))

    def broken(*arguments: object, **named: object) -> None:
        raise ValueError(f"{KEYS} {CLIENT} {arguments} {named}")

    for name in ("pick", "on_failure", "on_stream_end", "on_stream_failure"):
        monkeypatch.setattr(rig.account_router, name, broken)
    with caplog.at_level(logging.DEBUG, "litellm_evenkeel"):
        for stream in (False, True):
            await ask(rig, stream=stream)
        with contextlib.suppress(ValueError):
            await rig.rotation.async_post_call_failure_deployment_hook({"model_info": None}, ValueError(CLIENT))
    logged = [record for record in caplog.records if record.name.startswith("litellm_evenkeel")]
    assert logged
    assert not [one for one in logged if any(secret in one.getMessage() or one.exc_info for secret in SECRETS)]


def test_addresses_with_passwords_are_in_no_settings_text(rig: Rig) -> None:
    secret = "hush-of-the-server"
    terms = {
        "shared": {"redis_url": f"redis://:{secret}@127.0.0.1:1"},
        "affinity": {"backend": "redis", "url": f"redis://:{secret}@127.0.0.1:1"},
    }
    rig.start(deployments(rig), rotation=terms)
    ours = [one for one in kept(rig.rotation, set()) if type(one).__module__.startswith("litellm_evenkeel")]
    assert len(ours) > 10
    assert not [one for one in ours if secret in repr(one)]


def test_an_account_that_is_called_like_a_key_is_told_once_and_never_shown(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    listed = deployments(rig)
    listed[0]["model_info"]["account"] = "sk-hush-hush"
    rig.start(listed, rotation={"accounts": {"sk-hush-hush": {"weight": 2}, "absent": {"weight": 2}}})
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len([one for one in told if "looks like a key" in one]) == 1
    assert len([one for one in told if "accounts.absent" in one]) == 1
    assert "hush" not in "".join(told)
    ours = [one for one in kept(rig.rotation, set()) if type(one).__module__.startswith("litellm_evenkeel")]
    assert not [one for one in ours if "hush" in repr(one)]
