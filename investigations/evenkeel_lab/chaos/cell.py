"""One cell of the matrix: a fault strikes both proxies while requests come in."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
import time
from typing import TYPE_CHECKING

from evenkeel_lab.chaos.rig import COOLDOWN_SECONDS
from evenkeel_lab.chaos.strikes.provider import FAILING_ACCOUNTS
from evenkeel_lab.chaos.traffic import due_times, send_to
from evenkeel_lab.chaos.watch import Watch, crashes, longest_cooldown, picks, scrape
from evenkeel_lab.runner.results.chaos_results import Cell, ProxyResult
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.fixtures import management_api

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.chaos.fault import Fault
    from evenkeel_lab.chaos.rig import Rig, Subject
    from evenkeel_lab.stack.timed_requests import TimedRequest

RATE = 8.0
NANOSECONDS = 1e9
BEFORE_SECONDS, DURING_SECONDS, AFTER_SECONDS = 4.0, 8.0, 8.0
# If the plugin loses requests, chance may decide which proxy loses more: the cell is repeated.
REPETITIONS, SEEDS = 3, 1000
# Records are written within this time after their requests.
JOURNAL_SECONDS, POLL_SECONDS = 10.0, 0.1


async def run_cell(rig: Rig, fault: Fault, seed: int, *, repeats: bool = True) -> Cell:
    """Run a cell; if `repeats` and the plugin loses requests in it, several times, as one with all their requests."""
    cell = await _run_once(rig, fault, seed)
    for repetition in range(1, REPETITIONS if repeats else 1):
        if cell.plugin.served == cell.plugin.requests:
            break
        cell = cell.merged_with(await _run_once(rig, fault, seed + repetition * SEEDS))
    return cell


async def _run_once(rig: Rig, fault: Fault, seed: int) -> Cell:
    await rig.until_booted()
    await _end_cooldowns(rig)
    # A key of its own: its records in the journal are those of this cell's requests.
    keys = {subject.name: await _new_key(subject) for subject in rig.subjects}
    total = BEFORE_SECONDS + DURING_SECONDS + AFTER_SECONDS
    due = due_times(RATE, total, seed)
    start = time.monotonic()

    async def send(times: Sequence[float]) -> list[list[TimedRequest]]:
        return await asyncio.gather(*(send_to(each, times, start, keys[each.name]) for each in rig.subjects))

    sending = asyncio.ensure_future(send(due))
    try:
        await asyncio.sleep(BEFORE_SECONDS)
        watch = Watch(rig.plugin, fault, rig.logged)
        await watch.begin()
        at, began_ns = time.monotonic(), time.time_ns()
        watching = asyncio.create_task(watch.run(at))
        try:
            async with fault.strike(rig):
                await asyncio.sleep(max(at + DURING_SECONDS - time.monotonic(), 0.0))
            ended = time.monotonic() - start
            cooldown = await longest_cooldown(rig.plugin)
            plugin, stock = await sending
            if ended + AFTER_SECONDS > total:
                # The end of the fault took longer than planned.
                later = [total + due for due in due_times(RATE, ended + AFTER_SECONDS - total, seed)]
                for requests, further in zip((plugin, stock), await send(later), strict=True):
                    requests.extend(further)
        finally:
            watching.cancel()
            await asyncio.wait([watching])
    finally:
        sending.cancel()
        await asyncio.wait([sending])
    crashed = crashes(watch.log.read_text(errors="replace"))[len(rig.crashes) :]
    rig.crashes.extend(crashed)
    met = [attempt["received_ns"] - began_ns for attempt in await rig.failed_attempts(since_ns=began_ns)]
    return Cell(
        fault=fault.name,
        about=fault.about,
        metric=fault.metric,
        log=fault.log if watch.is_log_due else "",
        first_failure_after=fault.first_failure_after + min(met, default=0) / NANOSECONDS,
        plugin=_proxy_result(plugin, at - start, ended),
        stock=_proxy_result(stock, at - start, ended),
        metric_after=watch.sighting.metric_after,
        log_after=watch.sighting.log_after,
        log_lines=watch.sighting.log_lines,
        plugin_lines=watch.sighting.plugin_lines,
        crashes=crashed,
        longest_cooldown=cooldown,
        picks=picks(watch.before, await scrape(rig.plugin)),
        may_lose_records=fault.loses_records,
        lost_records=await _lost(rig.plugin, keys[rig.plugin.name], sum(request.is_served for request in plugin)),
    )


def _proxy_result(requests: list[TimedRequest], struck: float, ended: float) -> ProxyResult:
    affected = [request for request in requests if request.end > struck]
    failed_later = [request.due - ended for request in affected if not request.is_served and request.due > ended]
    return ProxyResult(
        requests=len(affected),
        served=sum(request.is_served for request in affected),
        recovered_after=max(failed_later, default=0.0),
        calm_latencies=[request.latency for request in requests if request.end <= struck],
    )


async def _end_cooldowns(rig: Rig) -> None:
    """End what an earlier fault has left behind: cooldowns of the plugin and of LiteLLM."""
    headers = {"authorization": f"Bearer {rig.plugin.proxy.master_key}"}
    async with client(seconds=30, base_url=rig.plugin.proxy.url, headers=headers) as sending:
        for account in FAILING_ACCOUNTS:
            await sending.post(f"/evenkeel/accounts/{account}/release")
    await asyncio.sleep(COOLDOWN_SECONDS)


async def _new_key(subject: Subject) -> str:
    async with management_api(subject.proxy) as api:
        return str((await api.post("/key/generate", max_budget=100.0, budget_duration="30d"))["key"])


def _records(subject: Subject, key: str) -> int:
    """Return the number of successful requests of a key in a proxy's journal."""
    path = subject.proxy.journal
    assert path is not None
    hashed = hashlib.sha256(key.encode()).hexdigest()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
        query = "SELECT count(*) FROM evenkeel_journal WHERE status = 200 AND key = ?"
        return int(journal.execute(query, (hashed,)).fetchone()[0])


async def _lost(subject: Subject, key: str, served: int) -> int:
    """Return the number of served requests of a key that have no record."""
    until = time.monotonic() + JOURNAL_SECONDS
    while (missing := served - _records(subject, key)) > 0 and time.monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
    return max(missing, 0)
