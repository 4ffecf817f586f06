from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.prometheus_callback.environments import RECORDED
from evenkeel_lab.bench.prometheus_callback.events import (
    ABSENT,
    Event,
    leaves,
    packed,
    place_of,
    read_events,
    write_events,
)
from evenkeel_lab.bench.prometheus_callback.record.anonymise import texts
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

EVENT = Event("chat", "async_log_success_event", {"kwargs": {"model": "m", "tags": ["a", {"b": 1}]}})
KINDS = {
    "chat",
    "stream",
    "embedding",
    "cache hit",
    "failure RateLimitError",
    "failure BadRequestError",
    "failure InternalServerError",
    "failure Timeout",
    "failure ContextWindowExceededError",
    "refusal KeyNotFoundError",
    "refusal BudgetExceededError",
    "fallback InternalServerError",
    "fallback in vain RateLimitError",
}


def test_events_are_read_as_they_were_written_and_the_same_are_the_same_bytes(tmp_path: Path) -> None:
    place = tmp_path / "events" / "1.2.3.json.gz"
    write_events([EVENT], place)
    first = place.read_bytes()
    assert read_events(place) == [EVENT]
    write_events(read_events(place), place)
    assert place.read_bytes() == first


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "events.json.gz"
    write_events([EVENT], place)
    monkeypatch.setattr("evenkeel_lab.bench.prometheus_callback.events.FORMAT", 2)
    with pytest.raises(WrongUse, match="format 1"):
        read_events(place)


def test_places_lead_to_values() -> None:
    tags = ("kwargs", "tags")
    assert dict(leaves(EVENT.arguments)) == {("kwargs", "model"): "m", (*tags, 0): "a", (*tags, 1, "b"): 1}
    assert [EVENT.at(place) for place, _ in leaves(EVENT.arguments)] == ["m", "a", 1]
    assert EVENT.at(("kwargs", "tags", 7)) is None
    assert EVENT.at(("kwargs", "model", "deeper")) is None


def test_what_events_share_is_written_once() -> None:
    other = EVENT.changed({("kwargs", "model"): ABSENT}).changed({("kwargs", "tags", 0): "c"})
    told = json.loads(packed([EVENT, other]))
    assert len(told["bases"]) == 1
    assert told["events"][1]["changes"] == [[["kwargs", "model"], {"$": "absent"}], [["kwargs", "tags", 0], "c"]]


def test_the_committed_events_are_of_every_kind_and_small(recorded: list[Event]) -> None:
    assert {event.kind for event in recorded} >= KINDS
    assert 150 <= len(recorded) <= 300
    assert place_of(RECORDED).stat().st_size <= 400 * 1024


def test_the_committed_events_hold_no_credential_and_nothing_of_a_machine(recorded: list[Event]) -> None:
    for text in texts(recorded):
        assert not re.search(r"Bearer|\bsk-(?!hidden-\d|\.)|127\.0\.0\.1:|localhost|/(tmp|root|home|work)/", text), text
