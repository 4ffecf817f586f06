"""The search for secrets."""

from __future__ import annotations

from evenkeel_lab.chaos.sweep import Secret, leaks, log_records


def test_each_kind_is_named_once_for_each_output() -> None:
    secrets = [Secret("key", "sk-1"), Secret("key", "sk-2"), Secret("password", "hush")]
    texts = {"log": "sk-1 and sk-2", "metrics": "nothing", "journal": "hush, sk-2"}
    assert leaks(secrets, texts) == ["key in log", "key in journal", "password in journal"]


def test_a_stack_trace_belongs_to_its_record() -> None:
    text = "12:01 evenkeel: an error\nTraceback (most recent call last):\nValueError: sk-1\n12:02 - other\n"
    assert log_records(text) == [
        "12:01 evenkeel: an error\nTraceback (most recent call last):\nValueError: sk-1",
        "12:02 - other",
    ]
