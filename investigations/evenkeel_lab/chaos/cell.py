"""One cell of the matrix: a fault strikes both proxies while requests come in."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

from evenkeel_lab.chaos.faults import STRUCK
from evenkeel_lab.chaos.rig import COOLDOWN_SECONDS
from evenkeel_lab.chaos.traffic import due_times, send_to
from evenkeel_lab.chaos.watch import Watch, picks, scrape
from evenkeel_lab.runner.results.chaos_results import Cell, ProxyResult
from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from evenkeel_lab.chaos.faults import Fault
    from evenkeel_lab.chaos.rig import Rig, Subject
    from evenkeel_lab.stack.timed_requests import TimedRequest

RATE = 6.0
BEFORE_SECONDS, DURING_SECONDS, AFTER_SECONDS = 4.0, 8.0, 8.0
# Records are written within this time after their requests.
JOURNAL_SECONDS, POLL_SECONDS = 10.0, 0.1


async def run_cell(rig: Rig, fault: Fault, seed: int) -> Cell:
    """Run a cell."""
    await _calm_down(rig)
    total = BEFORE_SECONDS + DURING_SECONDS + AFTER_SECONDS
    due = due_times(RATE, total, seed)
    recorded = _records(rig.plugin)
    watch = Watch(rig.plugin, fault, rig.logged)
    await watch.begin()
    calm = await scrape(rig.plugin)
    start = time.monotonic()
    sending = [asyncio.ensure_future(send_to(subject, due, start)) for subject in rig.subjects]
    await asyncio.sleep(BEFORE_SECONDS)
    async with contextlib.AsyncExitStack() as struck:
        at = time.monotonic()
        watching = asyncio.create_task(watch.run(at))
        try:
            await struck.enter_async_context(fault.strike(rig))
            await asyncio.sleep(max(at + DURING_SECONDS - time.monotonic(), 0.0))
            await struck.aclose()
            ended = time.monotonic() - start
            plugin, stock = await asyncio.gather(*sending)
        finally:
            for task in (*sending, watching):
                task.cancel()
            await asyncio.wait([*sending, watching])
    served = sum(request.is_served for request in plugin)
    return Cell(
        fault=fault.name,
        about=fault.about,
        metric=fault.metric,
        log=fault.log if watch.is_log_due else "",
        plugin=_proxy_result(plugin, at - start, ended),
        stock=_proxy_result(stock, at - start, ended),
        metric_after=watch.sighting.metric_after,
        log_after=watch.sighting.log_after,
        log_lines=watch.sighting.log_lines,
        picks=picks(calm, await scrape(rig.plugin)),
        lost_records=await _lost(rig.plugin, recorded + served),
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


async def _calm_down(rig: Rig) -> None:
    """End what an earlier fault has left behind: cooldowns of the plugin and of LiteLLM."""
    headers = {"authorization": f"Bearer {rig.plugin.proxy.master_key}"}
    async with client(seconds=10, base_url=rig.plugin.proxy.url, headers=headers) as sending:
        for account in STRUCK:
            await sending.post(f"/evenkeel/accounts/{account}/release")
    await asyncio.sleep(COOLDOWN_SECONDS)


def _records(subject: Subject) -> int:
    """Return the number of successful requests in a proxy's journal."""
    path = subject.proxy.journal
    assert path is not None
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
        return int(journal.execute("SELECT count(*) FROM evenkeel_journal WHERE status = 200").fetchone()[0])


async def _lost(subject: Subject, expected: int) -> int:
    """Return the number of records that are missing. More may be there, of clients that have left."""
    until = time.monotonic() + JOURNAL_SECONDS
    while (missing := expected - _records(subject)) > 0 and time.monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
    return max(missing, 0)
