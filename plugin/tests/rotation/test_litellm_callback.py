from __future__ import annotations

import math

import pytest

from litellm_evenkeel.rotation.litellm_callback import (
    MAX_RETRY_AFTER_SECONDS,
    is_permanent,
    rejection_message,
    retry_after,
)
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.selection.pick import NoCapacity


@pytest.mark.parametrize(("seconds", "said"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.01, 2), (1e9, MAX_RETRY_AFTER_SECONDS)])
def test_it_says_when_to_come_back(seconds: float, said: int) -> None:
    found = NoCapacity(seconds, None)
    assert retry_after(found) == said
    assert not is_permanent(found)
    assert f"{said} s" in rejection_message("gpt", found)


def test_it_says_why_and_whose_accounts_stay_unnamed() -> None:
    no_capacity = NoCapacity(5.0, Blocker(BlockReason.COOLDOWN, 5.0, "the provider's own words"))
    assert (
        rejection_message("gpt", no_capacity)
        == "evenkeel: no account of 'gpt' is available (cooling down). Retry in 5 s."
    )


def test_death_is_no_matter_of_waiting() -> None:
    no_capacity = NoCapacity(math.inf, Blocker(BlockReason.QUARANTINED, math.inf, "revoked"))
    assert is_permanent(no_capacity)
    assert retry_after(no_capacity) == MAX_RETRY_AFTER_SECONDS
    assert "quarantined" in rejection_message("gpt", no_capacity)
    assert "revoked" not in rejection_message("gpt", no_capacity)
