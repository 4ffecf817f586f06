"""Who asks in a run: a team, a user and a key that the proxy has never seen, and has just been asked by.

LiteLLM remembers for a minute who a key belongs to. When it has forgotten, all clients that come at once have it looked
up at once, and keep each other waiting for seconds: among fifty clients, the median changed by half with how long ago
the last run was. With somebody new in each run, and known since a moment ago, all runs begin alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from httpx import HTTPError

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stack.sample_requests import ask
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from evenkeel_lab.investigation_spec.investigation import Load
    from evenkeel_lab.runner.targets import Target

# So many times for each worker, so that each of them has most likely been asked.
REQUESTS_PER_WORKER = 4


async def with_fresh_key(target: Target, wanted: Load) -> Target:
    """Return a proxy with the key of somebody new; anything else as it is."""
    if target.create_key is None:
        return target
    options = wanted.options | {"models": wanted.models or MODEL}
    models = make_plan(SCENARIOS[wanted.scenario], wanted.users, "", options).models
    try:
        key = await target.create_key()
        await ask(target.url, key, models.things[0], times=REQUESTS_PER_WORKER * target.workers, at_once=target.workers)
    except HTTPError as error:
        what = f"{target.name} does not answer between two runs: {str(error) or type(error).__name__}."
        raise RigFailure(what, hint="Its log says why.") from error
    return replace(target, api_key=key)
