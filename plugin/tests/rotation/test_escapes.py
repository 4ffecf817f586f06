"""When a request does not go where its session is pinned."""

from __future__ import annotations

import pytest

from litellm_evenkeel.rotation.escapes import Advice, Sight, advise
from litellm_evenkeel.rotation.sticky_terms import StickyTerms

TERMS = StickyTerms(slow_factor=3.0, slow_floor=2.0, failing_after=2, repin_after=60.0)


@pytest.mark.parametrize(
    ("sight", "advice"),
    [
        (Sight(), Advice.FOLLOW),
        (Sight(held_for=5.0), Advice.HELD),
        (Sight(held_for=60.0), Advice.HELD),
        (Sight(held_for=61.0), Advice.HELD_LONG),
        (Sight(is_quarantined=True, is_offered=False), Advice.QUARANTINED),
        (Sight(is_offered=False), Advice.NOT_OFFERED),
        (Sight(is_offered=False, held_for=61.0), Advice.HELD_LONG),
        (Sight(failures=1), Advice.FOLLOW),
        (Sight(failures=2), Advice.FAILING),
        (Sight(latency=9.0), Advice.FOLLOW),
        (Sight(median=1.0), Advice.FOLLOW),
        (Sight(latency=3.1, median=1.0), Advice.SLOW),
        (Sight(latency=3.0, median=1.0), Advice.FOLLOW),
        # Many times slower, and still quick.
        (Sight(latency=1.9, median=0.01), Advice.FOLLOW),
        (Sight(is_hot=True), Advice.HOT),
    ],
)
def test_advice(sight: Sight, advice: Advice) -> None:
    assert advise(sight, TERMS) is advice


def test_only_what_lasts_ends_a_pin() -> None:
    assert {advice for advice in Advice if not advice.keeps_pin} == {Advice.HELD_LONG, Advice.QUARANTINED}
    assert [advice for advice in Advice if advice.follows] == [Advice.FOLLOW]
