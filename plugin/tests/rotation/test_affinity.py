"""What sticking is worth, even where it is worth less than nothing."""

from __future__ import annotations

import pytest

from litellm_evenkeel.rotation.affinity import Affinity, Outcome


def test_what_hits_found_beyond_what_others_do() -> None:
    affinity = Affinity()
    affinity.settled(Outcome.MISS, 1000, 100)
    affinity.settled(Outcome.HIT, 3000, 2700)
    affinity.settled(Outcome.HIT, 1000, 900)
    affinity.settled(Outcome.ESCAPE, 500, 100)
    affinity.settled(Outcome.REPIN, 500, 0)
    worth = affinity.worth()
    assert worth.gained_over_misses == pytest.approx(3600 - 400)
    assert worth.gained_over_away == pytest.approx(3600 - 400)
    assert (worth.hits.requests, worth.misses.requests, worth.away.requests) == (2, 1, 2)


def test_a_loss_is_told() -> None:
    affinity = Affinity()
    affinity.settled(Outcome.MISS, 1000, 500)
    affinity.settled(Outcome.HIT, 1000, 100)
    assert affinity.worth().gained_over_misses == pytest.approx(-400)


def test_what_was_never_compared_is_not_known() -> None:
    affinity = Affinity()
    affinity.settled(Outcome.HIT, 1000, 900)
    affinity.settled(Outcome.MISS, 0, 0)
    assert affinity.worth().gained_over_misses is None
    assert affinity.worth().gained_over_away is None


def test_no_more_is_cached_than_was_read() -> None:
    affinity = Affinity()
    affinity.settled(Outcome.HIT, 10, 500)
    affinity.settled(Outcome.HIT, 10, -5)
    assert affinity.worth().hits.share == 0.5
