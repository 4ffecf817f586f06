"""A soak: a proxy under load for a long time, while faults come and go. Nothing in it may grow."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.chaos.faults import FAULTS
from evenkeel_lab.chaos.rig import rig
from evenkeel_lab.chaos.traffic import due_times, send_to
from evenkeel_lab.chaos.watch import scrape
from evenkeel_lab.errors import FaultNotCaused, RigFailure
from evenkeel_lab.runner.results.chaos_results import Growth, Soak
from evenkeel_lab.stats.trend import trend

if TYPE_CHECKING:
    from evenkeel_lab.chaos.rig import Rig, Subject
    from evenkeel_lab.progress import Steps

# About 80 % of what both workers with all callbacks serve on the cores that the rig leaves them.
RATE = 14.0
# A fault for some seconds, then none for a while.
FAULT_SECONDS, CALM_SECONDS = 8.0, 22.0
SAMPLE_SECONDS = 5.0
# What grows while a proxy warms up is no leak.
WARM_UP_SHARE = 0.25
MIB = 2**20
# Faults that stop all requests would empty everything, and a new worker has the memory of its warm-up.
LEFT_OUT = frozenset(
    {
        *("nothing", "postgres_killed", "postgres_connections", "postgres_password", "schema_older"),
        *("worker_killed", "engine_killed"),
    }
)
LEAST_SAMPLES = 24
METRICS = {
    "evenkeel_metrics_series": "series",
    "evenkeel_metrics_queue_length": "events that wait to be counted",
    "evenkeel_journal_queue_length": "records that wait to be written",
    "evenkeel_rotation_in_flight": "requests in flight",
    "evenkeel_rotation_queue_length": "requests in the queue",
    "evenkeel_rotation_sessions": "sessions",
    "evenkeel_budget_known": "known budgets",
    "evenkeel_budget_lookups_in_flight": "budgets that are looked up",
}


async def run_soak(litellm: str, minutes: float, steps: Steps) -> Soak:
    """Run the soak, and return what has grown."""
    samples: list[dict[str, float]] = []
    async with rig(litellm, steps) as running:
        seconds = minutes * 60
        with steps.step(f"{minutes:g} minutes under {RATE:g} requests a second, with faults"):
            start = time.monotonic()
            sampling = asyncio.create_task(_sample(running.plugin, start, samples))
            striking = asyncio.create_task(_strike(running))
            sending = asyncio.ensure_future(send_to(running.plugin, due_times(RATE, seconds, seed=1), start))
            try:
                await asyncio.wait([sending, sampling, striking], return_when=asyncio.FIRST_COMPLETED)
                for task in (sampling, striking):
                    if task.done():
                        # It never ends by itself: this raises its error.
                        task.result()
                requests = await sending
            finally:
                for each in (sending, sampling, striking):
                    each.cancel()
                await asyncio.wait([sending, sampling, striking])
    if len(samples) < LEAST_SAMPLES:
        raise RigFailure(f"Only {len(samples)} samples were taken.", hint="Run the soak for longer.")
    served = sum(request.is_served for request in requests)
    return Soak(minutes=minutes, requests=len(requests), served=served, growths=growths(samples))


def growths(samples: list[dict[str, float]]) -> list[Growth]:
    """Return the slope of each metric after the warm-up."""
    settled = samples[int(len(samples) * WARM_UP_SHARE) :]
    names = sorted({name for sample in settled for name in sample} - {"minutes"})
    slopes = []
    for name in names:
        present = [sample for sample in settled if name in sample]
        fitted = trend([sample["minutes"] for sample in present], [sample[name] for sample in present])
        if fitted is not None:
            last = present[-1][name]
            slopes.append(Growth(what=name, last=last, slope=fitted.slope, low=fitted.low, high=fitted.high))
    return slopes


async def _sample(subject: Subject, start: float, samples: list[dict[str, float]]) -> None:
    process = psutil.Process(subject.proxy.info.pid)
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        with contextlib.suppress(psutil.Error):
            minutes = (time.monotonic() - start) / 60
            samples.append({"minutes": minutes, **_of_process(process), **await _metrics(subject)})


def _of_process(process: psutil.Process) -> dict[str, float]:
    family = [process, *process.children(recursive=True)]
    return {
        "memory, MiB": sum(member.memory_info().rss for member in family) / MIB,
        "open files and sockets": float(sum(member.num_fds() for member in family)),
        "threads": float(sum(member.num_threads() for member in family)),
        "processes": float(len(family)),
    }


async def _metrics(subject: Subject) -> dict[str, float]:
    totals: dict[str, float] = {}
    for (name, _), value in (await scrape(subject)).items():
        if name in METRICS:
            totals[METRICS[name]] = totals.get(METRICS[name], 0.0) + value
    return totals


async def _strike(running: Rig) -> None:
    """Cause one fault after another, for ever."""
    while True:
        for fault in FAULTS:
            if fault.name not in LEFT_OUT and (running.disk is not None or not fault.needs_disk):
                await asyncio.sleep(CALM_SECONDS)
                # Whether a fault had an effect is judged by the matrix.
                with contextlib.suppress(FaultNotCaused):
                    async with fault.strike(running):
                        await asyncio.sleep(FAULT_SECONDS)
