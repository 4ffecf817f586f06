"""When a request does not go where its session is pinned."""

from __future__ import annotations

import pytest

from litellm_evenkeel.rotation.affinity.policy import AffinityDecision, PinnedAccount, decide
from litellm_evenkeel.rotation.settings import AffinitySettings

TERMS = AffinitySettings(slow_factor=3.0, slow_floor=2.0, failure_threshold=2, move_after=60.0)


@pytest.mark.parametrize(
    ("pinned_account", "decision"),
    [
        (PinnedAccount(), AffinityDecision.FOLLOW),
        (PinnedAccount(cooldown_left=5.0), AffinityDecision.COOLING_DOWN),
        (PinnedAccount(cooldown_left=60.0), AffinityDecision.COOLING_DOWN),
        (PinnedAccount(cooldown_left=61.0), AffinityDecision.COOLING_DOWN_LONG),
        (PinnedAccount(is_quarantined=True, is_candidate=False), AffinityDecision.QUARANTINED),
        (PinnedAccount(is_candidate=False), AffinityDecision.NOT_A_CANDIDATE),
        (PinnedAccount(is_candidate=False, cooldown_left=61.0), AffinityDecision.COOLING_DOWN_LONG),
        (PinnedAccount(failures=1), AffinityDecision.FOLLOW),
        (PinnedAccount(failures=2), AffinityDecision.FAILING),
        (PinnedAccount(latency=9.0), AffinityDecision.FOLLOW),
        (PinnedAccount(median_latency=1.0), AffinityDecision.FOLLOW),
        (PinnedAccount(latency=3.1, median_latency=1.0), AffinityDecision.SLOW),
        (PinnedAccount(latency=3.0, median_latency=1.0), AffinityDecision.FOLLOW),
        # Many times slower, and still quick.
        (PinnedAccount(latency=1.9, median_latency=0.01), AffinityDecision.FOLLOW),
        (PinnedAccount(is_overloaded=True), AffinityDecision.OVERLOADED),
    ],
)
def test_advice(pinned_account: PinnedAccount, decision: AffinityDecision) -> None:
    assert decide(pinned_account, TERMS) is decision


def test_only_what_lasts_ends_a_pin() -> None:
    assert {decision for decision in AffinityDecision if not decision.keeps_pin} == {
        AffinityDecision.COOLING_DOWN_LONG,
        AffinityDecision.QUARANTINED,
    }
    assert [decision for decision in AffinityDecision if decision.follows] == [AffinityDecision.FOLLOW]
