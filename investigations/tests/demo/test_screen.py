"""Lanes and results of the demonstration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rich.console import Console

from evenkeel_lab.bench.failover.journal import Entry
from evenkeel_lab.demo import screen, story
from evenkeel_lab.demo.contest import Contestant
from evenkeel_lab.stack.timed_requests import TimedRequest


def contestant(attempts: list[Entry], answers: list[TimedRequest], title: str = "the router") -> Contestant:
    proxy: Any = SimpleNamespace()
    return Contestant(title, "own", proxy, "key", ["customer"], answers, attempts)


def test_a_lane_has_a_mark_for_each_second_and_a_failure_shows() -> None:
    attempts = [
        Entry("own-1", 0.2, 200, ""),
        Entry("own-1", 0.8, 429, "status=429"),
        Entry("own-1", 1.5, 200, ""),
        Entry("own-2", 1.1, 200, ""),
    ]
    first, second, *others = screen.lanes(contestant(attempts, []), 5.0)
    assert first[:2] == screen.FAILED + screen.SERVED
    # Its fault begins with the first chapter.
    assert first[int(story.CHAPTERS[0].at) :] == screen.FAULTY * (5 - int(story.CHAPTERS[0].at))
    assert second == screen.IDLE + screen.SERVED + screen.IDLE * 3
    assert len(others) == story.ACCOUNTS - 2


def test_the_result_says_what_clients_saw() -> None:
    ends = [(0.0, 0.1, 200), (1.0, 3.5, 200), (2.0, 2.1, 429), (3.0, 3.1, 0)]
    answers = [TimedRequest(*end) for end in ends]
    shown = contestant([Entry("own-1", 2.0, 429, "status=429")], answers)
    console = Console(width=100, record=True)
    console.print(screen.result([shown]))
    lines = {line.rsplit(maxsplit=1)[0].strip(): line.split()[-1] for line in console.export_text().splitlines()[1:]}
    assert lines["requests answered"] == "50.0%"
    assert lines["429, 401, 403, 503 seen by clients"] == "1"
    assert lines["failed while an account could serve"] == "2"
    assert lines["failed attempts at accounts"] == "1"


def test_a_frame_fits_into_eighty_columns() -> None:
    both = [contestant([], [], "LiteLLM's own router"), contestant([], [], "with litellm-evenkeel")]
    console = Console(width=80, record=True)
    console.print(screen.frame(both, story.SECONDS))
    lines = console.export_text().splitlines()
    assert len(lines) == story.ACCOUNTS + 4
    assert all(len(line.rstrip()) <= 80 for line in lines)


def test_the_outage_leaves_no_account() -> None:
    during = story.OUTAGE_AT + 1
    faulty = {trouble.account for trouble in story.troubles("own") if trouble.is_on(during)}
    assert faulty == {account.name for account in story.accounts("own")}
    after = story.OUTAGE_AT + story.OUTAGE_SECONDS + 1
    assert len({trouble.account for trouble in story.troubles("own") if trouble.is_on(after)}) < story.ACCOUNTS
