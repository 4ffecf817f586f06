"""Each run has a fresh key that the proxy has just seen."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.investigation import Load
from evenkeel_lab.investigation_spec.session import Key
from evenkeel_lab.runner.measurement.fresh_key import REQUESTS_PER_WORKER, with_fresh_key
from evenkeel_lab.runner.targets import Target
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.servers.mock import mock

if TYPE_CHECKING:
    from pathlib import Path


async def create_key() -> str:
    return "sk-new"


async def test_a_proxy_has_been_asked_with_the_key_of_a_run(tmp_path: Path) -> None:
    async with stack_folder() as folder, mock(folder, tmp_path, settings={}) as provider:
        target = Target("on", "on", provider.url, "sk-old", "sk-admin", workers=2, create_key=create_key)
        found = await with_fresh_key(target, Load(requests=1, models="gpt-4o=2,gpt-4o-mini"))
        async with client(seconds=10) as asking:
            journal = (await asking.get(f"{provider.url}/_mock/journal")).text
    assert (found.api_key, found.admin_key) == ("sk-new", "sk-admin")
    describe_bound = [json.loads(line)["model"] for line in journal.splitlines() if "chat" in line]
    assert describe_bound == ["gpt-4o"] * REQUESTS_PER_WORKER * 2


async def test_a_new_key_is_not_used_before_its_run() -> None:
    target = Target("on", "on", "http://127.0.0.1:1", "sk-old", "sk-admin", create_key=create_key)
    assert (await with_fresh_key(target, Load(requests=1), Key.NEW)).api_key == "sk-new"


async def test_a_forgotten_key_is_left_alone_until_caches_have_lost_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel_lab.runner.measurement.fresh_key.SECONDS_UNTIL_FORGOTTEN", 0.3)
    async with stack_folder() as folder, mock(folder, tmp_path, settings={}) as provider:
        target = Target("on", "on", provider.url, "sk-old", "sk-admin", create_key=create_key)
        asking = asyncio.create_task(with_fresh_key(target, Load(requests=1), Key.FORGOTTEN))
        async with client(seconds=10) as looking:
            journal = ""
            while journal.count("gpt-4o") < REQUESTS_PER_WORKER:
                assert not asking.done()
                journal = (await looking.get(f"{provider.url}/_mock/journal")).text
        assert (await asking).api_key == "sk-new"


async def test_who_is_met_cold_or_is_no_proxy_is_met_by_nobody_new() -> None:
    target = Target("on", "on", "http://127.0.0.1:1", "sk-old", "sk-admin")
    assert await with_fresh_key(target, Load(requests=1)) is target


async def test_a_proxy_that_is_gone_is_said_in_a_sentence() -> None:
    target = Target("on", "on", "http://127.0.0.1:1", "sk-old", "sk-admin", create_key=create_key)
    with pytest.raises(RigFailure, match="on does not answer between two runs"):
        await with_fresh_key(target, Load(requests=1))
