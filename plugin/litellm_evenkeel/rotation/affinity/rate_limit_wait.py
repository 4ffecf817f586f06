"""Wait of a request for a rate limit of its session's account, instead of a change to another account.

The account's prompt cache contains the conversation. Any other account must process the whole prompt anew, and bills
it in full. So a rate limit is waited for if it ends before another account would have processed the prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.blocker import BlockReason, Certainty

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Providers cache prompts of a thousand tokens or more. The estimated usage contains the response too.
MIN_TOKENS = 2_000


def longest_wait(usage: Usage, prefill_rate: float) -> float:
    """Return the seconds that another account would need for a prompt; 0 if no account would have it in its cache."""
    return usage.tokens / prefill_rate if prefill_rate and usage.tokens >= MIN_TOKENS else 0.0


def rate_limit_ends_at(deployment: DeploymentState, usage: Usage, now: float) -> float | None:
    """Return when the rate limits end that block a request; `None` if nothing or anything else blocks it.

    A limit of which this worker only lacks a lease is nothing to wait for here.
    """
    blocker = deployment.blocker(usage, now)
    if blocker is None or blocker.reason not in {BlockReason.LIMIT, BlockReason.COOLDOWN}:
        return None
    limit = deployment.limit_blocker(usage, now)
    if limit is not None and (limit.reason is not BlockReason.LIMIT or limit.certainty is not Certainty.CONFIRMED):
        return None
    cooldowns = [scope.cooldown for scope in (deployment.account, deployment.model) if scope.cooldown.kind is not None]
    if any(cooldown.kind is not FailureKind.RATE_LIMIT for cooldown in cooldowns):
        return None
    return max([cooldown.until for cooldown in cooldowns] + ([] if limit is None else [limit.until]))


def met_rate_limit(deployment: DeploymentState) -> bool:
    """Return whether the last failure at a deployment was a rate limit, which has not been lifted since."""
    return FailureKind.RATE_LIMIT in {deployment.account.cooldown.kind, deployment.model.cooldown.kind}
