"""What a client is told when no account is free: which model, why, and when to come back; never whose accounts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import Why

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.picks import Full

LONGEST_SECONDS = 86_400


def retry_after(full: Full) -> int:
    """Return the seconds to say, at least one."""
    return max(1, math.ceil(min(full.opens_in, LONGEST_SECONDS)))


def is_hopeless(full: Full) -> bool:
    """Return whether waiting does not help: all accounts have died."""
    return full.opens_in == math.inf


def sentence(model: str, full: Full) -> str:
    """Say it."""
    if is_hopeless(full):
        return (
            f"evenkeel: every account of {model!r} is quarantined; an operator finds the reasons in "
            f"/evenkeel/accounts and releases them there"
        )
    reason = full.bar.why.value if full.bar else Why.WINDOW.value
    return f"evenkeel: no account of {model!r} is free ({reason}); the first of them is in {retry_after(full)} s"
