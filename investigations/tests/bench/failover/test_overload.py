from __future__ import annotations

import pytest

from evenkeel_lab.bench.failover.arm import Drill, Outcome, Request
from evenkeel_lab.bench.failover.journal import Entry
from evenkeel_lab.bench.failover.overload import capacity, metrics_of, recoveries
from evenkeel_lab.stack.litellm.accounts import Account

SECONDS, LIMIT = 80.0, 600
RATE = 1.2 * LIMIT / 60
WANTED = Drill((Account("a", LIMIT),), [number / RATE for number in range(int(RATE * SECONDS))], weights=(1.0, 1.0))


def outcome(blind_after_reset: float = 0.0) -> Outcome:
    """Return the outcome of a proxy that sends every request until its accounts are exhausted."""
    requests, journal, opened, used = [], [], -60.0, 0
    for number, due in enumerate(WANTED.due):
        is_new = due >= opened + 60
        if is_new and (opened < 0 or due >= opened + 60 + blind_after_reset):
            opened, used, is_new = due, 0, False
        served = used < LIMIT and not is_new
        if served:
            used += 1
            journal.append(Entry("a", due, 200, ""))
        requests.append(Request(number % 2, due, due + 0.1, 200 if served else 429, "" if served else "http_429"))
    return Outcome(tuple(requests), tuple(journal))


@pytest.mark.parametrize("blind", [0.0, 3.0])
def test_recovery_is_the_time_from_the_reset_until_all_is_well(blind: float) -> None:
    (found,) = recoveries(WANTED, outcome(blind), SECONDS)
    assert found == pytest.approx(blind, abs=0.35)


def test_a_load_that_is_never_well_again_has_not_recovered() -> None:
    (found,) = recoveries(WANTED, outcome(100.0), SECONDS)
    assert found == pytest.approx(20.0, abs=0.5)


def test_a_proxy_that_paces_what_it_has_has_nothing_to_recover_from() -> None:
    every = 60 / LIMIT
    paced = [number * every for number in range(int(SECONDS / every))]
    served = tuple(Request(0, at, at, 200, "") for at in paced)
    found = Outcome(served, tuple(Entry("a", at, 200, "") for at in paced))
    assert max(recoveries(WANTED, found, SECONDS), default=0.0) < 0.5


def test_who_never_has_nothing_left_has_not_shown_that_it_recovers() -> None:
    half = Outcome(outcome().requests, outcome().journal[:: LIMIT // 100])
    value, told = metrics_of(WANTED, half, SECONDS)["recovery_seconds"]
    assert value == SECONDS
    assert told.startswith("not shown")


def test_what_others_have_used_is_nobodys_fault_and_nobodys_share() -> None:
    # From the 40th second on others have the rest, and everybody is refused until the 60th.
    requests, journal = [], [Entry("a", 40.0, 200, "", is_others=True)] * (LIMIT - 480)
    for number, due in enumerate(WANTED.due):
        served = due < 40.0 or due >= 60.0
        requests.append(Request(number % 2, due, due, 200 if served else 429, "" if served else "http_429"))
        journal.append(Entry("a", due, 200 if served else 429, ""))
    found = metrics_of(WANTED, Outcome(tuple(requests), tuple(sorted(journal, key=lambda entry: entry.at))), SECONDS)
    assert found["over_limit_share"][0] == 0.0
    assert found["modest_keys_served_share"][0] == 1.0
    assert found["recovery_seconds"][0] <= 0.1
    assert found["capacity_used_share"][0] == pytest.approx(1.0, abs=0.01)


def test_the_figures_of_a_proxy_that_wastes_nothing_and_favours_nobody() -> None:
    found = metrics_of(WANTED, outcome(), SECONDS)
    assert found["over_limit_share"][0] == 0.0
    assert found["fairness_shortfall"][0] == pytest.approx(0.0, abs=0.01)
    assert found["modest_keys_served_share"][0] == 1.0
    assert capacity(WANTED, SECONDS) == pytest.approx(LIMIT + 20 * RATE)
    assert found["capacity_used_share"][0] == pytest.approx(1.0, abs=0.01)
