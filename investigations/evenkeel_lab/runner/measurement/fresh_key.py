"""A fresh key for each run: a new team, user and key. If nothing else is wanted, the proxy has just seen it.

LiteLLM caches the owner of a key for a minute. Once that has expired, all concurrent clients look it up at the same
time and delay each other by seconds: with fifty clients, the median changed by half with the age of the last run. With
a new key that was used a moment ago, all runs begin alike.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from httpx import HTTPError

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.session import Key
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stack.sample_requests import ask
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from evenkeel_lab.investigation_spec.investigation import Load
    from evenkeel_lab.runner.targets import Target

# Enough for each worker to have most likely served one.
REQUESTS_PER_WORKER = 4
# LiteLLM caches keys, registries and spend counters for 60 s.
SECONDS_UNTIL_FORGOTTEN = 65.0


async def with_fresh_key(target: Target, wanted: Load, state: Key = Key.KNOWN) -> Target:
    """Return the target with a fresh key of that state; if it needs none, as it is."""
    if target.create_key is None:
        return target
    options = wanted.options | {"models": wanted.models or MODEL}
    models = make_plan(SCENARIOS[wanted.scenario], wanted.users, "", options).models
    try:
        key = await target.create_key()
        if state is not Key.NEW:
            times = REQUESTS_PER_WORKER * target.workers
            await ask(target.url, key, models.things[0], times=times, at_once=target.workers)
    except HTTPError as error:
        what = f"{target.name} does not answer between two runs: {str(error) or type(error).__name__}."
        raise RigFailure(what, hint="Its log may say why.") from error
    if state is Key.FORGOTTEN:
        await asyncio.sleep(SECONDS_UNTIL_FORGOTTEN)
    return replace(target, api_key=key)
