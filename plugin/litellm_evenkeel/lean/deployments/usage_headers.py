"""Rate-limit headers of large model groups, which are computed once in a second.

Each response says what is left of the limits of its model group. For that, LiteLLM reads two counters of each of the
group's deployments, from its memory and from Redis.
"""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.lean.deployments.router_class import router_class
from litellm_evenkeel.lean.parameters import require_parameters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    RemainingUsage = Callable[[Any, str], Awaitable[Mapping[str, int]]]

SECONDS = 1.0
# For a smaller group, reading the counters takes no time that could be measured.
LARGE_GROUP = 50


def remember_usage_headers() -> None:
    """Make the requests to a large group share what is left of its limits for a second."""
    router = router_class()
    method = f"{router.prefix}get_remaining_model_group_usage"
    setattr(router.owner, method, shared(getattr(router.owner, method), f"{router.prefix}get_model_list"))


def shared(original: RemainingUsage, model_list: str, clock: Callable[[], float] = time.monotonic) -> RemainingUsage:
    """Return a method that calls `original` once in a second for a large group.

    `model_list` is the name of the method that returns a group's deployments.
    """
    require_parameters(original, "model_group")
    # The groups that exist are few: those of unknown names have no deployments, and are not large.
    usages: dict[tuple[int, str], tuple[float, Mapping[str, int]]] = {}

    @wraps(original)
    async def remaining_usage(self: Any, model_group: str) -> Mapping[str, int]:
        now, key = clock(), (id(self), model_group)
        due_at, usage = usages.get(key, (0.0, {}))
        if now < due_at:
            return dict(usage)
        if key in usages:
            # Meanwhile, the others get the last one.
            usages[key] = now + SECONDS, usage
        usage = await original(self, model_group)
        if len(getattr(self, model_list)(model_name=model_group) or ()) > LARGE_GROUP:
            usages[key] = now + SECONDS, dict(usage)
        else:
            usages.pop(key, None)
        return usage

    return remaining_usage
