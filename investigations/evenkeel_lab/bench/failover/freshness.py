"""The time for which a revoked account still gets requests: in a real proxy, and in a rotation that learns it late.

A failure changes the rotation's picks at once. To measure the effect of that, `after_death` can delay it until the next
snapshot, like rotations that keep the state of accounts in a database and read it every few seconds.
"""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenkeel_lab.bench.failover.arm import Drill, Outcome, run_drill
from evenkeel_lab.bench.failover.profile import Trouble
from evenkeel_lab.bench.rotation.model_groups import ANSWER, unwatched
from evenkeel_lab.investigation_spec.arm import Patch
from evenkeel_lab.stack.litellm.accounts import unlimited_accounts
from evenkeel_lab.stack.litellm.config import MODEL, merged
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.stack import stack
from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import AffinitySettings, RotationSettings
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

ACCOUNTS, DEAD = 10, 3
RATE, LATENCY = 50.0, 0.1
# Seconds before the account dies, and seconds to observe afterwards if its death is known at once.
ALIVE_SECONDS, AT_ONCE_SECONDS = 0.5, 1.0
# Half of the capacity of a proxy with one worker. Every other account dies, one after another.
DRILL_RATE, FIRST_DIES_AT, NEXT_AFTER, OBSERVED_SECONDS = 20.0, 3.0, 1.5, 10.0
# At this rate, each account gets two requests a second: the quota is used up in a third of the time.
QUOTA_REQUESTS, QUOTA_SECONDS = 20, 30.0
MILLISECONDS = 1000
REVOKED_KEY = "status=401"
# Values are compared by factors, which must not be zero.
LEAST = 1.0
REVOKED = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "its key was revoked")


def after_death(seed: int, *, ttl: float = 10.0, at_once: bool = True) -> float:
    """Return the milliseconds from an account's death to the end of its last request, at 50 requests a second.

    Without any request since its death, this is the duration of one request.
    """
    return asyncio.run(_after_death(random.Random(seed), ttl, at_once=at_once)) * MILLISECONDS


def at_proxy(
    seed: int,
    *,
    rotation: str = "evenkeel",
    ttl: float = 10.0,
    workers: int = 1,
    rate: float = DRILL_RATE,
    fault: str = REVOKED_KEY,
) -> float:
    """Return one plus the number of requests that reach five of ten accounts in the ten seconds after their deaths.

    An account dies when the fault `fault` of the mock begins. `rotation` is `evenkeel` or one of LiteLLM's routing
    strategies. Several workers share state through Redis. With a `ttl` of 0, each request makes a new snapshot. `rate`
    is the number of requests per second.
    """
    return asyncio.run(_at_proxy(random.Random(seed), rotation, ttl, workers, rate, fault)) + LEAST


def at_quota(seed: int, *, rotation: str = "evenkeel", ttl: float = 10.0) -> float:
    """Return one plus the number of requests that reach accounts whose quota is used up.

    Five of ten accounts have a quota of which no proxy is configured to know.
    """
    return asyncio.run(_at_quota(random.Random(seed), rotation, ttl)) + LEAST


async def _after_death(chance: random.Random, ttl: float, *, at_once: bool) -> float:
    accounts = unlimited_accounts(ACCOUNTS)
    dead, deployments = (
        accounts[DEAD].name,
        [account.deployment(MODEL, "http://127.0.0.1:9/v1") for account in accounts],
    )
    # Pins would send some sessions to the dead account and keep others away.
    router = unwatched(RotationSettings(snapshot_ttl=ttl, affinity=AffinitySettings(enabled=False)), chance)
    loop = asyncio.get_running_loop()
    began = loop.time()
    # The account dies at a random moment between two snapshots.
    dies = began + ALIVE_SECONDS + chance.uniform(0.0, ttl)
    last, is_known = LATENCY, False

    def fail(deployment: str) -> None:
        nonlocal is_known
        if at_once:
            router.on_failure(deployment, REVOKED, None, time.time())
            return
        attempt = router.attempts.failed(deployment)
        if attempt is not None:
            router.release(attempt)
        if not is_known:
            is_known = True
            next_snapshot = began + math.ceil((loop.time() - began) / ttl) * ttl
            update = CooldownUpdate(dead, None, REVOKED.kind, REVOKED.reason, math.inf, is_provider_stated=True)
            loop.call_at(next_snapshot, router.pool.apply_cooldown_update, update)

    async def ask(number: int) -> dict[str, Any] | None:
        nonlocal last
        pick = await router.pick(MODEL, list(deployments), None, {"litellm_call_id": f"call-{number}"})
        assert isinstance(pick, Pick)
        spec = pick.deployment.spec
        if spec.account == dead and loop.time() >= dies:
            last = loop.time() - dies + LATENCY
            await asyncio.sleep(LATENCY)
            fail(spec.id)
            return None
        await asyncio.sleep(LATENCY)
        return ANSWER

    tasks: list[asyncio.Task[dict[str, Any] | None]] = []
    while loop.time() < dies + (AT_ONCE_SECONDS if at_once else ttl + AT_ONCE_SECONDS):
        tasks.append(loop.create_task(ask(len(tasks))))
        await asyncio.sleep(chance.expovariate(RATE))
    await asyncio.gather(*tasks)
    return last


async def _at_proxy(chance: random.Random, rotation: str, ttl: float, workers: int, rate: float, fault: str) -> int:
    accounts = unlimited_accounts(ACCOUNTS)
    dies = {account.name: FIRST_DIES_AT + NEXT_AFTER * number for number, account in enumerate(accounts[::2])}
    due = _arrivals(chance, rate, max(dies.values()) + OBSERVED_SECONDS)
    drill = Drill(accounts, due, tuple(Trouble(name, fault, moment) for name, moment in dies.items()))
    outcome = await _outcome(drill, rotation, ttl, workers)
    return sum(0 <= entry.at - dies.get(entry.account, math.inf) < OBSERVED_SECONDS for entry in outcome.journal)


async def _at_quota(chance: random.Random, rotation: str, ttl: float) -> int:
    quota = {"name": "5h", "for": "5h", "requests": QUOTA_REQUESTS}
    accounts = tuple(
        account if number % 2 else replace(account, quota=quota)
        for number, account in enumerate(unlimited_accounts(ACCOUNTS))
    )
    outcome = await _outcome(Drill(accounts, _arrivals(chance, DRILL_RATE, QUOTA_SECONDS)), rotation, ttl, 1)
    return sum(entry.is_beyond_limit for entry in outcome.journal)


def _arrivals(chance: random.Random, rate: float, seconds: float) -> list[float]:
    due, at = [], 0.0
    while (at := at + chance.expovariate(rate)) < seconds:
        due.append(at)
    return due


async def _outcome(drill: Drill, rotation: str, ttl: float, workers: int) -> Outcome:
    """Run a drill with a proxy. With a `ttl` of 0, its rotation makes a new snapshot for each request."""
    subject = drill.subject(rotation, DEFAULT_VERSION, workers)
    if ttl:
        settings = merged(subject.settings, {"evenkeel": {"rotation": {"snapshot_ttl": ttl}}})
        subject = replace(subject, settings=settings)
    else:
        subject = replace(subject, patch=Patch.PLUGIN_FRESH_SNAPSHOTS)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
        async with stack(drill.options()) as ground, ground.proxy(subject) as proxy:
            return await run_drill(ground, proxy, drill, Path(folder) / "records")
