from __future__ import annotations

import json
from typing import Any

import pytest

from evenkeel_lab.bench.prometheus_callback.record.anonymise import Pseudonyms, anonymised


def line(hook: str = "async_log_success_event", **arguments: Any) -> str:
    start = {"$": "datetime", "at": "2026-11-22T04:05:06.250000"}
    return json.dumps({"hook": hook, "arguments": {"start_time": start, **arguments}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 64, "hash"),
        ("see 8f14e45f-ceea-4c1a-9b3c-0123456789ab there", "see 00000000-0000-4000-8000-000000000001 there"),
        ("key sk-abcDEF-123456", "key sk-hidden-1"),
        ("http://127.0.0.1:41234/v1/chat", "http://provider.test/v1/chat"),
        ("in /tmp/evenkeel-x1/config.yaml, line 3", "in /somewhere, line 3"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("gpt-4o-mini", "gpt-4o-mini"),
    ],
)
def test_ids_keys_hosts_and_paths_are_replaced(text: str, expected: str) -> None:
    replaced = Pseudonyms().replace(text)
    assert replaced == expected if expected != "hash" else (len(replaced) == 64 and replaced != text)


def test_equal_texts_have_the_same_pseudonym() -> None:
    pseudonyms = Pseudonyms()
    first, other = "sk-one-key", "sk-another-key"
    assert [pseudonyms.replace(text) for text in (first, other, first)] == ["sk-hidden-1", "sk-hidden-2", "sk-hidden-1"]


def test_all_times_are_shifted_by_the_same_amount() -> None:
    epoch = 1_795_320_306.5
    end = {"$": "datetime", "at": "2026-11-22T04:05:07.750000"}
    (event,) = anonymised(
        [line(end_time=end, kwargs={"reset": "2026-12-22T00:00:00+00:00", "began": epoch, "cost": 0.5})]
    )
    assert event.at(("start_time", "at")) == "2040-01-02T12:00:00.250000"
    assert event.at(("end_time", "at")) == "2040-01-02T12:00:01.750000"
    assert event.at(("kwargs", "reset")) == "2040-02-01T07:54:54+00:00"
    assert event.at(("kwargs", "began")) > epoch
    assert event.at(("kwargs", "cost")) == 0.5


@pytest.mark.parametrize(
    ("hook", "arguments", "kind"),
    [
        ("async_log_success_event", {"kwargs": {"stream": False}}, "chat"),
        ("async_log_success_event", {"kwargs": {"stream": True}}, "stream"),
        ("async_log_success_event", {"kwargs": {"cache_hit": True, "stream": True}}, "cache hit"),
        ("async_log_success_event", {"kwargs": {"call_type": "aembedding"}}, "embedding"),
        ("async_log_failure_event", {"kwargs": {"exception": {"$": "exception", "class": "a.b.Late"}}}, "failure Late"),
        ("async_post_call_failure_hook", {"original_exception": {"class": "a.No"}}, "refusal No"),
        ("log_success_fallback_event", {"original_exception": {"class": "a.No"}}, "fallback No"),
        ("log_failure_fallback_event", {"original_exception": {"class": "a.No"}}, "fallback in vain No"),
    ],
)
def test_an_event_is_named_after_its_kind(hook: str, arguments: dict[str, Any], kind: str) -> None:
    (event,) = anonymised([line(hook, **arguments)])
    assert event.kind == kind
