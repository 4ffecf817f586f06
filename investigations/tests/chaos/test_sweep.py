"""The search for secrets."""

from __future__ import annotations

from evenkeel_lab.chaos.sweep import Secret, leaks


def test_each_kind_is_named_once_for_each_way_out() -> None:
    secrets = [Secret("key", "sk-1"), Secret("key", "sk-2"), Secret("password", "hush")]
    texts = {"log": "sk-1 and sk-2", "metrics": "nothing", "journal": "hush, sk-2"}
    assert leaks(secrets, texts) == ["key in log", "key in journal", "password in journal"]
