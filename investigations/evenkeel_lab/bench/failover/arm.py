"""An arm of a drill: a proxy with one router, loaded while its provider's accounts fail."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow.parquet as pq

from evenkeel_lab.bench.failover.journal import Entry, read
from evenkeel_lab.errors import RigFailure, ScheduleMissed
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.accounts import Account, mock_settings
from evenkeel_lab.stack.litellm.config import MODEL, ProxySpec, Rotation, merged
from evenkeel_lab.stack.sample_requests import ask
from evenkeel_lab.stack.stack import Options
from evenkeel_load.analysis.summary import summarise
from evenkeel_load.errors import LoadError
from evenkeel_load.plan import make_plan
from evenkeel_load.proxy import Sampler
from evenkeel_load.records.folder import RECORDS
from evenkeel_load.records.resource_samples import read_samples, waited
from evenkeel_load.run import Fleet, Progress, run as load
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.bench.failover.profile import Trouble
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack
    from evenkeel_load.records.resource_samples import Sample

EVENKEEL = "evenkeel"
STOCK = ("simple-shuffle", "latency-based-routing", "usage-based-routing-v2", "least-busy")
# The same for all arms. More than three retries would hide a router's mistakes from clients.
RETRIES, TIMEOUT_SECONDS = 3, 5.0
CLIENT_SECONDS = 40.0
# Longer than any drill: a connection that closes under a request has nothing to do with the router.
KEEP_ALIVE_SECONDS = 600
LATENCY = {"ttft_ms": "lognormal(median=100, sigma=0.4)", "length": 16}
SEED = 7
# Drills check whether requests are served within seconds, so that the load need not be punctual to milliseconds.
MOST_LATE_MS = 100.0
# Workers share state through LiteLLM's own Redis.
SHARED = {"rotation": {"shared": {"redis_url": "litellm"}}}
MOST_BUSY = 0.9
# Requests that wait for a core for seconds reach the provider at another time than the router picked them for.
MOST_WAITED = 0.25
# Time for Locust's processes to start on a busy machine.
LEAD_SECONDS = 8.0
# A proxy's first requests take seconds. They use an account of their own, so that they open no window of the others.
WARM_UP = Account("warm-up", 100_000, group="warm-up")
WARM_UPS, WARM_UPS_AT_ONCE = 24, 4
REFUSED_STATUSES = (401, 403, 429)
OK = 200
NS = 1e9


class Stopped(Exception):
    """The drill was stopped by the user."""


@dataclass(frozen=True)
class Intervention:
    """A change of the rig during a drill, besides the mock's own timeline of faults."""

    at: float
    do: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Drill:
    """The scenario that every arm runs."""

    accounts: tuple[Account, ...]
    due: Sequence[float]
    """Times of requests, in seconds from the beginning."""
    troubles: tuple[Trouble, ...] = ()
    weights: tuple[float, ...] = (1.0,)
    """Relative demand of each client's key."""
    seed: int = SEED

    def options(self) -> Options:
        """Return the options of its stack."""
        settings = {"seed": self.seed, "latency": LATENCY, **mock_settings((*self.accounts, WARM_UP))}
        return Options(mock_settings=settings)

    def subject(
        self, arm: str, version: str, workers: int = 1, own_settings: Mapping[str, Any] | None = None
    ) -> ProxySpec:
        """Return the specification of an arm's proxy. `own_settings` override those that all arms have."""
        settings: dict[str, Any] = {
            "router_settings": {"num_retries": RETRIES, "timeout": TIMEOUT_SECONDS},
            "litellm_settings": {"request_timeout": TIMEOUT_SECONDS},
        }
        if arm != EVENKEEL:
            settings["router_settings"]["routing_strategy"] = arm
        elif workers > 1:
            settings["evenkeel"] = SHARED
        rotation = Rotation.EVENKEEL if arm == EVENKEEL else Rotation.OFF
        return ProxySpec(
            version,
            workers=workers,
            settings=merged(settings, own_settings or {}),
            rotation=rotation,
            accounts=(*self.accounts, WARM_UP),
            keep_alive=KEEP_ALIVE_SECONDS,
        )


@dataclass(frozen=True)
class Request:
    """A request as its client saw it. Times are seconds from the beginning of the drill."""

    key: int
    """Number of the client's key."""
    due: float
    end: float
    status: int
    error: str

    @property
    def is_served(self) -> bool:
        """Whether it was answered without an error."""
        return not self.error


@dataclass(frozen=True)
class Outcome:
    """Result of a drill."""

    requests: tuple[Request, ...]
    journal: tuple[Entry, ...] = field(repr=False)
    """The provider's journal of the drill's accounts."""

    @property
    def success_share(self) -> float:
        """Share of requests that were served."""
        return sum(request.is_served for request in self.requests) / len(self.requests)

    @property
    def rejections_seen(self) -> int:
        """The number of requests for which the client saw a 429, 401 or 403."""
        return sum(request.status in REFUSED_STATUSES for request in self.requests)

    @property
    def summary(self) -> str:
        """Description of the requests, to be shown beside a metric."""
        errors: dict[str, int] = {}
        for request in self.requests:
            if request.error:
                errors[request.error] = errors.get(request.error, 0) + 1
        counts = ", ".join(f"{count} {error}" for error, count in sorted(errors.items(), key=lambda item: -item[1]))
        tried = sum(not entry.is_others for entry in self.journal) / len(self.requests)
        return f"{len(self.requests):,} requests, {tried:.3f} tries each, {counts or 'no error'}"


async def run_drill(
    ground: Stack, proxy: Proxy, drill: Drill, records: Path, interventions: Sequence[Intervention] = ()
) -> Outcome:
    """Run a drill with a proxy. A load that did not keep its schedule proves nothing and is an error."""
    mock = ground.mock.url
    await _post(f"{mock}/_mock/reset")
    await warm_up(proxy)
    start_ns = time.time_ns() + int(LEAD_SECONDS * NS)
    begun = Intervention(0.0, lambda: post_faults(ground, drill))
    intervening = asyncio.create_task(_intervene(start_ns, [begun, *interventions]))
    assert proxy.info.pid is not None
    watching = Sampler(proxy.info.pid)
    watching.start()
    try:
        await _load(proxy, drill, start_ns, records)
        if intervening.done():
            intervening.result()
    finally:
        watching.usage()
        intervening.cancel()
        await asyncio.wait([intervening])
        with contextlib.suppress(httpx.TransportError):
            await post_faults(ground, None)
    watching.write(records)
    samples = samples_during(read_samples(records), start_ns / NS, drill.due[-1])
    _require_room(proxy, records, samples)
    async with client(seconds=30) as asking:
        journal = (await asking.get(f"{mock}/_mock/journal")).raise_for_status().text
    names = {account.name for account in drill.accounts}
    entries = tuple(entry for entry in read(journal, start_ns) if entry.account in names)
    return Outcome(tuple(_requests(drill, records, start_ns)), entries)


def samples_during(samples: Sequence[Sample], start: float, seconds: float) -> list[Sample]:
    """Return the samples during the drill. Before and after it, a proxy has nothing to do."""
    return [sample for sample in samples if start < sample.time <= start + seconds + 1]


def _require_room(proxy: Proxy, records: Path, samples: Sequence[Sample]) -> None:
    """Raise if the machine was too slow for the load or for the proxy."""
    limited = [*summarise(records, MOST_LATE_MS).limited]
    cpu = sum(process.cpu for sample in samples for process in sample.processes)
    busy = cpu / max(sum(sample.seconds for sample in samples), 1.0) / proxy.spec.workers
    if busy > MOST_BUSY:
        limited.append(f"the proxy used {busy:.0%} of a core in each of its workers")
    waiting = waited(samples)
    if waiting is not None and waiting > MOST_WAITED:
        limited.append(f"the proxy waited for a core for {waiting:.0%} of the time")
    if limited:
        raise ScheduleMissed(
            f"{proxy.info.name}: the drill did not keep its schedule: {'; '.join(limited)}.",
            hint="Stop other programs on this machine, and run it again.",
        )


async def post_faults(ground: Stack, drill: Drill | None) -> None:
    """Begin the faults of a drill now; end all faults if it is `None`."""
    await _post(f"{ground.mock.url}/_mock/faults", [trouble.entry() for trouble in drill.troubles] if drill else [])


async def warm_up(proxy: Proxy) -> None:
    """Send some requests for an account that is not part of the drill."""
    times = WARM_UPS * proxy.spec.workers
    await ask(proxy.url, proxy.master_key, WARM_UP.group, times=times, at_once=WARM_UPS_AT_ONCE)


async def _intervene(start_ns: int, interventions: Sequence[Intervention]) -> None:
    for intervention in interventions:
        await asyncio.sleep(max(0.0, intervention.at - (time.time_ns() - start_ns) / NS))
        await intervention.do()


async def _post(url: str, body: object = None) -> None:
    async with client(seconds=10) as asking:
        (await asking.post(url, json=body)).raise_for_status()


def refill(ground: Stack, account: str) -> Callable[[], Awaitable[None]]:
    """Return a function that resets an account's windows before their end."""
    return lambda: _post(f"{ground.mock.url}/_mock/refill", {"account": account})


def _load_options(drill: Drill, start_ns: int | None, trace: Path | None) -> dict[str, Any]:
    return {
        "arrivals": "trace",
        "trace": trace,
        "weights": ",".join(f"{weight:g}" for weight in drill.weights),
        "identities": len(drill.weights),
        "key_mode": "per-user",
        "models": MODEL,
        "seed": drill.seed,
        "timeout": CLIENT_SECONDS,
        "start_at": start_ns,
        # The proxy does not outlive its drill.
        "remove_after": 0.0,
    }


async def _load(proxy: Proxy, drill: Drill, start_ns: int, records: Path) -> None:
    stop = threading.Event()

    def stop_if_asked(_: Progress) -> None:
        if stop.is_set():
            raise Stopped

    trace = records.with_suffix(".trace")
    trace.write_text("".join(f"{due:.6f}\n" for due in drill.due), encoding="utf-8")
    chosen = _load_options(drill, start_ns, trace) | {"api_key": proxy.master_key, "admin_key": proxy.master_key}
    try:
        await asyncio.to_thread(
            load,
            "chat",
            proxy.url,
            (len(drill.weights),),
            chosen,
            records,
            fleet=Fleet(),
            tell=stop_if_asked,
            is_there=True,
        )
    except LoadError as error:
        raise RigFailure(f"The load failed: {error.what}", hint=error.hint) from error
    finally:
        # Ctrl-C cancels this coroutine, but not the thread that waits for Locust.
        stop.set()


def _requests(drill: Drill, records: Path, start_ns: int) -> list[Request]:
    # The same plan as the load's gives the key of each request.
    plan = make_plan(
        SCENARIOS["chat"], len(drill.weights), "", _load_options(drill, None, records.with_suffix(".trace"))
    )
    columns = ["number", "intended_ns", "end_ns", "status", "error"]
    rows = pq.read_table(records / RECORDS, columns=columns).to_pylist()
    requests = [
        Request(
            key=plan.user_and_turn(row["number"])[0],
            due=(row["intended_ns"] - start_ns) / NS,
            end=(row["end_ns"] - start_ns) / NS,
            status=row["status"] or 0,
            error=row["error"] or "",
        )
        for row in rows
    ]
    return sorted(requests, key=lambda request: request.due)
