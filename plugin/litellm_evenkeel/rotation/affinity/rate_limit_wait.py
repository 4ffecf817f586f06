"""Wait of a request for a rate limit of its session's account, instead of a change to another account.

The account's prompt cache contains the conversation. Any other account must process the whole prompt anew, and bills
it in full. So a rate limit is waited for if it ends before another account would have processed the prompt. A used-up
quota, or an account that fails, is not waited for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.blocker import BlockReason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Providers cache prompts of a thousand tokens or more. The estimated usage contains the response too.
MIN_TOKENS = 2_000
# Pause between two looks at an account whose cooldown is over, and whose probe is in flight.
MIN_SECONDS = 0.05


def longest_wait(usage: Usage, prefill_rate: float) -> float:
    """Return the seconds that another account would need for a prompt; 0 if no account would have it in its cache."""
    return usage.tokens / prefill_rate if prefill_rate and usage.tokens >= MIN_TOKENS else 0.0


def seconds_to_wait(deployments: Iterable[DeploymentState], usage: Usage, now: float) -> float:
    """Return the seconds until an account's rate limit ends; 0 if nothing blocks it, `inf` if anything else does."""
    return min((_seconds_at(deployment, usage, now) for deployment in deployments), default=math.inf)


def _seconds_at(deployment: DeploymentState, usage: Usage, now: float) -> float:
    blocker = deployment.blocker(usage, now)
    if blocker is None:
        return 0.0
    kinds = {scope.cooldown.kind for scope in (deployment.account, deployment.model)} - {None}
    if blocker.reason is BlockReason.LIMIT and not kinds:
        return max(blocker.until - now, MIN_SECONDS)
    if blocker.reason is BlockReason.COOLDOWN and kinds == {FailureKind.RATE_LIMIT}:
        return max(blocker.until - now, MIN_SECONDS)
    if blocker.reason is BlockReason.PROBING and kinds == {FailureKind.RATE_LIMIT}:
        return MIN_SECONDS
    return math.inf
