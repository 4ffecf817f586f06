"""For how long an account that has died is still asked: at a real proxy, and in a rotation that is told late.

What a rotation learns of a failure changes its picks at once. To see what that is worth, `after_death` can be told
instead when the next snapshot is made, as those are who keep the state of accounts in a database and read it anew every
so many seconds.
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

from evenkeel_lab.bench.failover.arm import Drill, go
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
# Before the death, and how long is looked at it afterwards where it is known at once.
ALIVE_SECONDS, AT_ONCE_SECONDS = 0.5, 1.0
# Of a proxy with one worker, half of what it could answer. Every other account dies, one after another.
DRILL_RATE, FIRST_DIES_AT, NEXT_AFTER, LOOKED_AT_SECONDS = 20.0, 3.0, 1.5, 10.0
MILLISECONDS = 1000
# A figure is compared by factors, which know no zero.
LEAST = 1.0
REVOKED = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "its key was revoked")


def after_death(seed: int, *, ttl: float = 10.0, at_once: bool = True) -> float:
    """Return after how many milliseconds the last refusal of an account that died is back, at 50 requests a second.

    Where nobody has asked it since, one refusal would have taken as long as it takes.
    """
    return asyncio.run(_after_death(random.Random(seed), ttl, at_once=at_once)) * MILLISECONDS


def at_proxy(seed: int, *, rotation: str = "evenkeel", ttl: float = 10.0, workers: int = 1) -> float:
    """Return how many requests reach five of ten accounts, each in the ten seconds after its death, and one more.

    `rotation` is `evenkeel`, or one of LiteLLM's routing strategies; several workers tell each other through Redis.
    A `ttl` of 0 has all accounts measured for every request.
    """
    return asyncio.run(_at_proxy(random.Random(seed), rotation, ttl, workers)) + LEAST


async def _after_death(chance: random.Random, ttl: float, *, at_once: bool) -> float:
    accounts = unlimited_accounts(ACCOUNTS)
    dead, deployments = accounts[DEAD].name, [one.deployment(MODEL, "http://127.0.0.1:9/v1") for one in accounts]
    # Pins would draw some sessions to it, and keep others away.
    router = unwatched(RotationSettings(snapshot_ttl=ttl, affinity=AffinitySettings(enabled=False)), chance)
    loop = asyncio.get_running_loop()
    began = loop.time()
    # At which moment of a snapshot's life it dies is drawn.
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
            next_look = began + math.ceil((loop.time() - began) / ttl) * ttl
            update = CooldownUpdate(dead, None, REVOKED.kind, REVOKED.reason, math.inf, is_provider_stated=True)
            loop.call_at(next_look, router.pool.apply_cooldown_update, update)

    async def ask(number: int) -> dict[str, Any] | None:
        nonlocal last
        found = await router.pick(MODEL, list(deployments), None, {"litellm_call_id": f"call-{number}"})
        assert isinstance(found, Pick)
        spec = found.deployment.spec
        if spec.account == dead and loop.time() >= dies:
            last = loop.time() - dies + LATENCY
            await asyncio.sleep(LATENCY)
            fail(spec.id)
            return None
        await asyncio.sleep(LATENCY)
        return ANSWER

    asked: list[asyncio.Task[dict[str, Any] | None]] = []
    while loop.time() < dies + (AT_ONCE_SECONDS if at_once else ttl + AT_ONCE_SECONDS):
        asked.append(loop.create_task(ask(len(asked))))
        await asyncio.sleep(chance.expovariate(RATE))
    await asyncio.gather(*asked)
    return last


async def _at_proxy(chance: random.Random, rotation: str, ttl: float, workers: int) -> int:
    accounts = unlimited_accounts(ACCOUNTS)
    dies = {account.name: FIRST_DIES_AT + NEXT_AFTER * place for place, account in enumerate(accounts[::2])}
    due, at = [], 0.0
    while (at := at + chance.expovariate(DRILL_RATE)) < max(dies.values()) + LOOKED_AT_SECONDS:
        due.append(at)
    drill = Drill(accounts, due, tuple(Trouble(name, "status=401", moment) for name, moment in dies.items()))
    subject = drill.subject(rotation, DEFAULT_VERSION, workers)
    if ttl:
        settings = merged(subject.settings, {"evenkeel": {"rotation": {"snapshot_ttl": ttl}}})
        subject = replace(subject, settings=settings)
    else:
        subject = replace(subject, patch=Patch.PLUGIN_FRESH_SNAPSHOTS)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
        async with stack(drill.options()) as ground, ground.proxy(subject) as proxy:
            found = await go(ground, proxy, drill, Path(folder) / "records")
    return sum(0 <= one.at - dies.get(one.account, math.inf) < LOOKED_AT_SECONDS for one in found.journal)
