"""Which functions are dear, and which have become dearer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.profiling.hot_functions import difference, top, wrappers

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile


def test_shares_are_of_the_whole_and_the_dearest_comes_first(profile: Profile) -> None:
    found = top(profile, "off")
    assert [(one.name, one.own, one.own_share) for one in found[:2]] == [
        ("litellm/router.py:complete", 12.0, 0.6),
        ("litellm/auth.py:check", 6.0, 0.3),
    ]
    assert sum(one.own_share for one in found) == pytest.approx(1)
    assert sum(one.own for one in found) == pytest.approx(profile.arms["off"].cpu_ms)
    assert next(one for one in found if one.name == "fastapi/app.py:call").cumulated == pytest.approx(18)


def test_a_callback_is_found_in_what_has_become_dearer(profile: Profile) -> None:
    changes = {one.name: one for one in difference(profile, "off", "stock")}
    logged = changes["litellm/integrations/prometheus.py:log"]
    assert (logged.own, logged.cumulated) == (pytest.approx(4), pytest.approx(7))
    assert logged.own_is_clear
    assert logged.cumulated_is_clear
    # It calls the callback, and costs no more by itself.
    above = changes["litellm/logging.py:success"]
    assert (above.own, above.cumulated) == (pytest.approx(0), pytest.approx(7))
    assert not above.own_is_clear
    assert above.cumulated_is_clear
    back = {one.name: one.own for one in difference(profile, "stock", "off")}
    assert back == {name: -one.own for name, one in changes.items()}


def test_few_samples_leave_every_difference_in_doubt(profile: Profile) -> None:
    few = {name: replace(taken, samples=3) for name, taken in profile.arms.items()}
    changes = difference(replace(profile, arms=few), "off", "stock")
    assert not any(one.own_is_clear or one.cumulated_is_clear for one in changes)


def test_what_only_hands_on_is_on_the_way(profile: Profile) -> None:
    # The application divides its work between two; the server hands all of it on to the application.
    assert wrappers(profile.arms["off"]) == {"uvicorn/h11.py:run_asgi"}
