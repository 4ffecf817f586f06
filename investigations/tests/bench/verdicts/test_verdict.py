from __future__ import annotations

import numpy as np
import pytest

from evenkeel_lab.bench.verdicts.simulation import REQUESTS, blocks, session
from evenkeel_lab.bench.verdicts.verdict import (
    anytime_claims,
    boot_claims,
    claims,
    ends_equivalent,
    finds_twice_the_margin,
    naive_claims,
)


def test_a_session_holds_the_effect_that_was_asked_for() -> None:
    found = session(np.random.default_rng(1), 60, effect=0.2)
    assert found.baseline.shape == found.candidate.shape == (60, REQUESTS)
    ratio = np.log(np.median(found.candidate, axis=1) / np.median(found.baseline, axis=1))
    assert ratio.mean() == pytest.approx(np.log(1.2), abs=0.02)
    # Runs differ from one another by more than chance among requests would have them.
    assert 0.03 < ratio.std(ddof=1) < 0.07


def test_arms_that_run_one_after_the_other_drift_apart() -> None:
    spreads = {
        arrange: np.std(
            [
                np.log(np.median(found.candidate) / np.median(found.baseline))
                for found in (arrange(np.random.default_rng(seed), 10) for seed in range(40))
            ]
        )
        for arrange in (blocks, session)
    }
    assert spreads[blocks] > 1.3 * spreads[session]


@pytest.mark.parametrize(
    "simulate", [claims, finds_twice_the_margin, ends_equivalent, naive_claims, anytime_claims, boot_claims]
)
def test_the_same_seed_says_the_same(simulate: object) -> None:
    assert callable(simulate)
    assert simulate(3) == simulate(3)
