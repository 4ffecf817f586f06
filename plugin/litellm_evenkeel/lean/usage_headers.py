"""Rate-limit headers of large model groups, which are computed once in a second.

Each response says what is left of the limits of its model group. For that, LiteLLM reads two counters of each of the
group's deployments, from its memory and from Redis.
"""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any

import litellm

from litellm_evenkeel.lean.deployments import registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    RemainingUsage = Callable[[Any, str], Awaitable[Mapping[str, int]]]

SECONDS = 1.0
# For a smaller group, reading the counters takes no time that could be measured.
LARGE_GROUP = 50
# The methods for what is left, and for the deployments of a group: of LiteLLM up to 1.108, and since 1.109.
OF_ROUTER = "get_remaining_model_group_usage", "get_model_list"
OF_REGISTRY = "_core_get_remaining_model_group_usage", "_core_get_model_list"


def remember_usage_headers() -> None:
    """Make the requests to a large group share what is left of its limits for a second."""
    owner, _ = registry()
    method, model_list = OF_ROUTER if owner is litellm.Router else OF_REGISTRY
    setattr(owner, method, shared(getattr(owner, method), model_list))


def shared(original: RemainingUsage, model_list: str, clock: Callable[[], float] = time.monotonic) -> RemainingUsage:
    """Return a method that calls `original` once in a second for a large group.

    `model_list` is the name of the method that returns a group's deployments.
    """
    # The groups that exist are few: those of unknown names have no deployments, and are not large.
    known: dict[tuple[int, str], tuple[float, Mapping[str, int]]] = {}

    @wraps(original)
    async def remaining_usage(self: Any, model_group: str) -> Mapping[str, int]:
        now, key = clock(), (id(self), model_group)
        due_at, usage = known.get(key, (0.0, {}))
        if now < due_at:
            return dict(usage)
        if key in known:
            # Meanwhile, the others get what is known.
            known[key] = now + SECONDS, usage
        usage = await original(self, model_group)
        if len(getattr(self, model_list)(model_name=model_group) or ()) > LARGE_GROUP:
            known[key] = now + SECONDS, dict(usage)
        else:
            known.pop(key, None)
        return usage

    return remaining_usage
