"""What a client is told when no account is free: which model, why, and when to come back; never whose accounts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import BlockReason

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.picks import NoCapacity

LONGEST_SECONDS = 86_400


def retry_after(no_capacity: NoCapacity) -> int:
    """Return the seconds to say, at least one."""
    return max(1, math.ceil(min(no_capacity.available_in, LONGEST_SECONDS)))


def is_permanent(no_capacity: NoCapacity) -> bool:
    """Return whether waiting does not help: all accounts have died."""
    return no_capacity.available_in == math.inf


def rejection_message(model: str, no_capacity: NoCapacity) -> str:
    """Say it."""
    if is_permanent(no_capacity):
        return (
            f"evenkeel: every account of {model!r} is quarantined; an operator finds the reasons in "
            f"/evenkeel/accounts and releases them there"
        )
    reason = no_capacity.blocker.reason.value if no_capacity.blocker else BlockReason.LIMIT.value
    return f"evenkeel: no account of {model!r} is free ({reason}); the first of them is in {retry_after(no_capacity)} s"
