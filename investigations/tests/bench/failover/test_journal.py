from __future__ import annotations

import json

import pytest

from evenkeel_lab.bench.failover.journal import OTHERS, Entry, left, over_limit, read, windows
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
