"""One run, on a mock in the place of a proxy: what a session leaves beside the records."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

from evenkeel_lab.diagnosis.diagnose import diagnose
from evenkeel_lab.diagnosis.evidence import read
from evenkeel_lab.investigation_spec.investigation import Gates, Load
from evenkeel_lab.runner.measurement.run import FILE, measure, next_start_ns
from evenkeel_lab.runner.targets import Target
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.servers.mock import mock
from evenkeel_load.records.resource_samples import read_samples

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_mock_alone_is_loaded_without_users_that_would_have_to_be_created(tmp_path: Path) -> None:
    async with stack_folder() as folder, mock(folder, tmp_path, settings={}) as provider:
        target = Target("direct", "direct", provider.url, "sk-a", "sk-a")
        wanted = Load(users=2, requests=10, user_mode="created", requests_per_user=1, key_mode="per-user")
        arguments = (target, wanted, 1, next_start_ns(), tmp_path / "direct", (), Gates(), threading.Event())
        run = await asyncio.wait_for(measure(*arguments), 60)
    assert (run.requests, run.figures["error_rate"]) == (10, 0.0)


async def test_a_run_says_what_its_subject_used_and_can_be_diagnosed(tmp_path: Path) -> None:
    settings = {"latency": {"ttft_ms": 100}}
    records = tmp_path / "001+off+on" / "off"
    async with stack_folder() as folder, mock(folder, tmp_path, settings=settings) as provider:
        target = Target("off", "off", provider.url, "sk-a", "sk-a", pid=provider.info.pid)
        wanted = Load(users=4, requests=40)
        arguments = (target, wanted, 1, next_start_ns(), records, (), Gates(), threading.Event())
        run = await asyncio.wait_for(measure(*arguments), 60)
    assert run.requests == 40
    assert run.figures["memory_mib"] > 0
    assert run.waited is not None
    assert 0 <= run.waited < 1
    assert provider.info.pid in {one.pid for sample in read_samples(records) for one in sample.processes}
    assert (records / FILE).exists()
    (evidence,) = read(records)
    assert evidence.run == run
    assert evidence.processes is not None
    assert diagnose(evidence).split.share("upstream") > 0.5


async def test_a_subject_is_asked_for_the_models_of_its_load(tmp_path: Path) -> None:
    async with stack_folder() as folder, mock(folder, tmp_path, settings={}) as provider:
        target = Target("on", "on", provider.url, "sk-a", "sk-a", pid=provider.info.pid)
        wanted = Load(users=2, requests=20, models="gpt-4o")
        arguments = (target, wanted, 1, next_start_ns(), tmp_path / "on", (), Gates(), threading.Event())
        await asyncio.wait_for(measure(*arguments), 60)
        async with client(seconds=10) as asking:
            journal = (await asking.get(f"{provider.url}/_mock/journal")).text
    assert {json.loads(line)["model"] for line in journal.splitlines() if "chat" in line} == {"gpt-4o"}


async def test_a_run_of_which_nothing_went_well_does_not_count(tmp_path: Path) -> None:
    settings = {"faults": [{"at": 0, "for": 1000, "account": "*", "fault": "status=500"}]}
    async with stack_folder() as folder, mock(folder, tmp_path, settings=settings) as provider:
        target = Target("on", "on", provider.url, "sk-a", "sk-a", pid=provider.info.pid)
        load, stop = Load(users=2, requests=10), threading.Event()
        arguments = (target, load, 1, next_start_ns(), tmp_path / "on", (), Gates(), stop)
        run = await asyncio.wait_for(measure(*arguments), 60)
    assert run.figures["error_rate"] == 1
    assert any("all of its requests failed" in why for why in run.limited)
