from __future__ import annotations

import math

import pytest

from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.picks import Full
from litellm_evenkeel.rotation.refusals import LONGEST_SECONDS, is_hopeless, retry_after, sentence


@pytest.mark.parametrize(("seconds", "said"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.01, 2), (1e9, LONGEST_SECONDS)])
def test_it_says_when_to_come_back(seconds: float, said: int) -> None:
    found = Full(seconds, None)
    assert retry_after(found) == said
    assert not is_hopeless(found)
    assert f"{said} s" in sentence("gpt", found)


def test_it_says_why_and_whose_accounts_stay_unnamed() -> None:
    full = Full(5.0, Bar(Why.HELD, 5.0, "the provider's own words"))
    assert sentence("gpt", full) == "evenkeel: no account of 'gpt' is free (held); the first of them is in 5 s"


def test_death_is_no_matter_of_waiting() -> None:
    full = Full(math.inf, Bar(Why.QUARANTINED, math.inf, "revoked"))
    assert is_hopeless(full)
    assert retry_after(full) == LONGEST_SECONDS
    assert "quarantined" in sentence("gpt", full)
    assert "revoked" not in sentence("gpt", full)
