from __future__ import annotations

import json

import pytest

from evenkeel_lab.bench.failover.journal import OTHERS, Entry, could_serve, lanes, left, over_limit, read, windows
from evenkeel_lab.bench.failover.profile import Trouble
from evenkeel_lab.stack.litellm.accounts import Account

A, B = Account("a", 10), Account("b", 20)


def accepted(account: str, *moments: float) -> list[Entry]:
    return [Entry(account, at, 200, "") for at in moments]


def test_a_journal_counts_from_the_beginning_of_the_drill() -> None:
    lines = [
        {"account": "a", "received_ns": 3_000_000_000, "status": 200, "fault": "", "model": "gpt-4o-mini"},
        {"account": "", "received_ns": 3_000_000_000, "status": 404, "fault": "", "model": ""},
        {"account": "a", "received_ns": 4_500_000_000, "status": 429, "fault": "status", "model": OTHERS},
    ]
    found = read("\n".join(map(json.dumps, lines)) + "\n", 4_000_000_000)
    assert [(one.at, one.is_accepted, one.is_beyond_limit) for one in found] == [
        (-1.0, True, False),
        (0.5, False, False),
    ]
    assert [one.is_others for one in found] == [False, True]


def test_a_window_opens_with_the_first_that_is_let_in_after_the_last_has_ended() -> None:
    refused = [Entry("a", at, 429, "") for at in (40.0, 59.9)]
    hung = [Entry("a", 61.0, 499, "hang"), Entry("a", 62.0, 401, "status")]
    found = windows([*accepted("a", 0.0, 30.0), *refused, *hung, *accepted("a", 120.9, 121.1)])["a"]
    assert [(one.opened, one.accepted, one.beyond) for one in found] == [(0.0, 2, 2), (61.0, 2, 0), (121.1, 1, 0)]


def test_over_the_limit_is_what_came_after_all_of_it_was_used() -> None:
    journal = [*accepted("a", *(float(at) for at in range(10))), Entry("a", 20.0, 429, ""), Entry("a", 21.0, 429, "")]
    assert over_limit(journal, [A, B]) == {"a": pytest.approx(0.2), "b": 0.0}
    # Injected faults are not beyond the limit.
    assert over_limit([*accepted("a", 0.0), Entry("a", 1.0, 429, "status")], [A])["a"] == 0.0


def test_what_others_have_used_up_nobody_could_know() -> None:
    before = [*accepted("a", *(float(at) for at in range(9))), Entry("a", 9.0, 429, "")]
    after = [Entry("a", 11.0, 429, "", is_others=True), Entry("a", 12.0, 429, "")]
    assert over_limit([*before, Entry("a", 10.0, 200, "", is_others=True), *after], [A])["a"] == pytest.approx(0.1)
    # Rejections before the competing load was accepted are beyond the limit.
    assert over_limit([*before, *accepted("a", 10.0), *after], [A])["a"] == pytest.approx(0.2)


def test_what_is_left_comes_back_when_a_window_ends() -> None:
    journal = [*accepted("a", 0.0, 1.0), *accepted("b", 10.0)]
    assert left(journal, [A, B], [0.0, 5.0, 10.0, 59.9, 60.0, 70.0]) == [29, 28, 27, 27, 29, 30]


def test_a_request_could_be_served_while_an_account_without_a_fault_has_room() -> None:
    quota = Account("q", 10, quota={"requests": 2})
    troubles = (Trouble("a", "hang", 20.0, 10.0), Trouble("q", "hang", 20.0, 10.0))
    journal = [*accepted("a", *(float(at) for at in range(10))), *accepted("q", 0.5, 1.5)]
    moments = [0.0, 5.0, 9.5, 25.0, 59.0, 60.5]
    # From 9.5 on both are used up. In 60 the minute of `a` is over; the quota of `q` lasts for hours.
    assert could_serve(journal, [A, quota], troubles, moments, {}) == [True, True, False, False, False, True]
    # An early reset gives `q` all of its quota.
    assert could_serve(journal, [A, quota], troubles, [10.0, 40.0], {"q": 30.0}) == [False, True]


def test_lanes_have_the_attempts_of_each_second() -> None:
    journal = [*accepted("a", 0.1, 0.2, 1.5), Entry("a", 1.6, 429, ""), Entry("b", 0.3, 401, "status")]
    found = lanes([*journal, Entry("a", 0.4, 200, "", is_others=True)], [A, B], [Trouble("b", "status=401", 0.0)], 2.0)
    assert found["a"] == {"faulty": [0, 0], "served": [2, 1], "over_limit": [0, 1], "failed": [0, 0]}
    assert found["b"] == {"faulty": [1, 1], "served": [0, 0], "over_limit": [0, 0], "failed": [1, 0]}
