from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.prometheus_callback.events import (
    ABSENT,
    Event,
    events_file,
    leaves,
    pack_events,
    read_events,
    write_events,
)
from evenkeel_lab.bench.prometheus_callback.record.anonymise import texts
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED
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


def test_events_survive_a_round_trip_and_equal_events_give_equal_bytes(tmp_path: Path) -> None:
    file = tmp_path / "events" / "1.2.3.json.gz"
    write_events([EVENT], file)
    first = file.read_bytes()
    assert read_events(file) == [EVENT]
    write_events(read_events(file), file)
    assert file.read_bytes() == first


def test_another_format_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "events.json.gz"
    write_events([EVENT], file)
    monkeypatch.setattr("evenkeel_lab.bench.prometheus_callback.events.FORMAT", 2)
    with pytest.raises(WrongUse, match="format 1"):
        read_events(file)


def test_a_path_leads_to_a_value() -> None:
    tags = ("kwargs", "tags")
    assert dict(leaves(EVENT.arguments)) == {("kwargs", "model"): "m", (*tags, 0): "a", (*tags, 1, "b"): 1}
    assert [EVENT.at(path) for path, _ in leaves(EVENT.arguments)] == ["m", "a", 1]
    assert EVENT.at(("kwargs", "tags", 7)) is None
    assert EVENT.at(("kwargs", "model", "deeper")) is None


def test_shared_arguments_are_written_once() -> None:
    other = EVENT.changed({("kwargs", "model"): ABSENT}).changed({("kwargs", "tags", 0): "c"})
    packed = json.loads(pack_events([EVENT, other]))
    assert len(packed["bases"]) == 1
    assert packed["events"][1]["changes"] == [[["kwargs", "model"], {"$": "absent"}], [["kwargs", "tags", 0], "c"]]


def test_the_committed_events_have_every_kind_and_are_small(recorded: list[Event]) -> None:
    assert {event.kind for event in recorded} >= KINDS
    assert 150 <= len(recorded) <= 300
    assert events_file(RECORDED).stat().st_size <= 400 * 1024


def test_the_committed_events_have_no_credentials_and_no_names_of_a_machine(recorded: list[Event]) -> None:
    for text in texts(recorded):
        assert not re.search(r"Bearer|\bsk-(?!hidden-\d|\.)|127\.0\.0\.1:|localhost|/(tmp|root|home|work)/", text), text
