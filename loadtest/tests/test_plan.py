from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from evenkeel_load.errors import LoadConfigError
from evenkeel_load.options import OPTIONS
from evenkeel_load.plan import Plan, make_plan
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path


def plan(scenario: str, users: int, run: str, given: dict[str, Any]) -> Plan:
    return make_plan(SCENARIOS[scenario], users, run, given)


def option(name: str) -> Any:
    return next(option for option in OPTIONS if option.name == name)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_has_a_plan_without_any_option(scenario: str) -> None:
    found = plan(scenario, 10, "run", {})
    assert found.expected
    assert found.run == "run"


def test_requests_per_user_say_how_many_there_are() -> None:
    assert plan("chat", 100, "run", {"requests_per_user": 10}).requests == 1000
    assert plan("chat", 100, "run", {"requests_per_user": 10, "requests": 7}).requests == 7
    assert plan("chat", 100, "run", {}).requests == 1000


def test_a_duration_replaces_the_usual_number() -> None:
    assert plan("chat", 5, "run", {"duration": 3.0}).requests is None
    # With a duration, the ids change after ten requests, and the load does not end.
    assert plan("chat", 5, "run", {"duration": 3.0, "requests_per_user": 10}).requests is None
    given = {"arrivals": "constant", "rate": 100.0, "duration": 3.0}
    assert plan("mixed", 5, "run", given).expected == 300


@given(st.integers(1, 50), st.integers(0, 10_000))
def test_every_number_is_one_users_turn(users: int, number: int) -> None:
    found = plan("chat", users, "run", {})
    user, turn = found.user_and_turn(number)
    assert (turn * users + user, user < users) == (number, True)


def test_users_send_as_much_as_their_weights_say() -> None:
    found = plan("chat", 3, "run", {"weights": "1,3,6", "arrivals": "constant", "rate": 10.0, "duration": 300.0})
    counts = Counter(found.user_and_turn(number)[0] for number in range(3000))
    assert [counts[user] / 3000 for user in range(3)] == pytest.approx([0.1, 0.3, 0.6], abs=0.03)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rate": 5.0}, "closed arrivals have no --rate"),
        ({"arrivals": "poisson"}, "need --rate"),
        ({"arrivals": "trace"}, "need --trace"),
        ({"arrivals": "ramp", "rate": 1.0, "duration": 3.0}, "need --rate-to"),
        ({"user_mode": "created", "duration": 3.0}, "an unknown number of created users"),
        ({"models": "gpt-4o=x"}, "no model with a weight"),
        ({"models": "=2"}, "has an empty name"),
        ({"user_mode": "absent"}, "there is no 'absent'"),
        ({"weights": "1,2"}, "are for open loads"),
        ({"weights": "1,2", "arrivals": "constant", "rate": 1.0, "user_mode": "random"}, "are for open loads"),
        ({"weights": "1,2", "arrivals": "constant", "rate": 1.0}, "There are 2 --weights for 10 users"),
        ({"weights": "1,x", "arrivals": "constant", "rate": 1.0}, "no list of numbers"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(LoadConfigError, match=told):
        plan("chat", 10, "run", given)


def test_requests_and_duration_cut_any_schedule(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("".join(f"{n}\n" for n in range(100)))
    trace = {"arrivals": "trace", "trace": str(path)}
    ramp = {"arrivals": "ramp", "rate": 10.0, "rate_to": 30.0, "duration": 10.0}
    assert plan("chat", 5, "run", trace).expected == 100
    assert plan("chat", 5, "run", trace | {"requests": 7}).expected == 7
    assert plan("chat", 5, "run", trace | {"duration": 9.5}).expected == 10
    assert plan("chat", 5, "run", ramp).expected == 200
    assert plan("chat", 5, "run", ramp | {"requests": 7}).expected == 7


def test_how_many_a_closed_load_sends_is_unknown_if_time_may_end_it() -> None:
    assert plan("chat", 5, "run", {"requests": 7, "duration": 1.0}).expected is None


def test_no_users_are_refused() -> None:
    with pytest.raises(LoadConfigError, match="needs users"):
        plan("chat", 0, "run", {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rate", "0"),
        ("rate", "inf"),
        ("rate", "fast"),
        ("requests", "-1"),
        ("requests", "1.5"),
    ],
)
def test_an_option_that_cannot_be_is_refused(name: str, text: str) -> None:
    with pytest.raises(LoadConfigError, match=f"--{name}"):
        option(name).parse(text)


def test_a_mix_of_models_is_kept() -> None:
    models = plan("chat", 1, "run", {"models": "gpt-4o=3, gpt-4o-mini"}).models
    chosen = [models.choose(1, number) for number in range(4000)]
    assert chosen.count("gpt-4o") == pytest.approx(3000, rel=0.05)
    assert set(chosen) == {"gpt-4o", "gpt-4o-mini"}
    assert chosen[:100] == [models.choose(1, number) for number in range(100)]
