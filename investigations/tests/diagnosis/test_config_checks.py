"""Checks of a configuration for settings that add work to each request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROTATION, JOURNAL = "litellm_evenkeel.proxy.rotation", "litellm_evenkeel.proxy.journal"
ALL = {"pins", "journal", "snapshot", "log lines", "provider connections", "prometheus", "spend"}


def config(
    path: Path, *callbacks: str, accounts: int = 1, general: Any = None, litellm: Any = None, **ours: Any
) -> Path:
    models = [
        {"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"http://host{number}/v1"}}
        for number in range(accounts)
    ]
    document = {
        "model_list": models,
        "litellm_settings": {"callbacks": list(callbacks), **(litellm or {})},
        "general_settings": general or {},
        "evenkeel": ours,
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture
def states(folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, str]]:
    folder.load([folder.record(n, n * 50.0, upstream=400.0) for n in range(600)])

    def states_of(*callbacks: str, options: tuple[str, ...] = (), **contents: Any) -> dict[str, str]:
        path = config(tmp_path / "proxy.yaml", *callbacks, **contents)
        assert cli(["diagnose", str(folder.path), "--config", str(path), *options, "--json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return {finding["check"]: finding["state"] for finding in run["findings"] if finding["check"] in ALL}

    return states_of


def test_a_plain_proxy_has_no_costly_setting(states: Callable[..., dict[str, str]]) -> None:
    assert states() == {"log lines": "clear", "provider connections": "clear", "spend": "clear"}


def test_the_defaults_of_the_plugin_are_not_costly(states: Callable[..., dict[str, str]]) -> None:
    result = states(ROTATION, JOURNAL, accounts=1000)
    assert {result[check] for check in ("pins", "journal", "snapshot")} == {"clear"}


@pytest.mark.parametrize(
    ("check", "contents"),
    [
        ("pins", {"rotation": {"affinity": {"backend": "postgres"}}}),
        ("pins", {"rotation": {"affinity": {"backend": "redis"}}}),
        ("journal", {"journal": {"batch_size": 1}}),
        ("journal", {"options": ("--workers", "2")}),
        ("journal", {"options": ("--workers", "2"), "journal": {"store": "postgres", "copy_to": "sqlite"}}),
        ("snapshot", {"rotation": {"snapshot_ttl": 0.01}, "accounts": 1000}),
        ("spend", {"general": {"proxy_batch_write_at": 2}}),
        ("spend", {"general": {"proxy_batch_write_at": 2.5}}),
        ("log lines", {"litellm": {"set_verbose": True}}),
    ],
)
def test_a_setting_that_adds_work_to_each_request_is_reported(
    states: Callable[..., dict[str, str]], check: str, contents: dict[str, Any]
) -> None:
    result = states(ROTATION, JOURNAL, **contents)
    assert [name for name, state in result.items() if state == "costs"] == [check]


def test_the_prometheus_callback_of_litellm_is_reported(states: Callable[..., dict[str, str]]) -> None:
    assert states("prometheus")["prometheus"] == "costs"


TOTAL, PER_HOST = "AIOHTTP_CONNECTOR_LIMIT", "AIOHTTP_CONNECTOR_LIMIT_PER_HOST"


# Eight requests are under way at once: 400 ms each, one every 50 ms.
@pytest.mark.parametrize(
    ("variables", "check", "state"),
    [
        ({"LITELLM_LOG": "debug"}, "log lines", "costs"),
        ({"LITELLM_LOG": "INFO"}, "log lines", "costs"),
        ({"LITELLM_LOG": "WARNING"}, "log lines", "clear"),
        ({"DETAILED_DEBUG": "1"}, "log lines", "costs"),
        ({"DEBUG": "true"}, "log lines", "costs"),
        ({"DEBUG": "0"}, "log lines", "clear"),
        ({"PROXY_BATCH_WRITE_AT": "1"}, "spend", "costs"),
        ({TOTAL: "4"}, "provider connections", "costs"),
        ({PER_HOST: "4"}, "provider connections", "unknown"),
        ({PER_HOST: "9"}, "provider connections", "clear"),
        ({PER_HOST: "2"}, "provider connections", "costs"),
        ({PER_HOST: "0", TOTAL: "4"}, "provider connections", "costs"),
        ({PER_HOST: "0", TOTAL: "0"}, "provider connections", "clear"),
        ({PER_HOST: "many"}, "provider connections", "clear"),
    ],
)
def test_environment_variables_are_checked(
    states: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    check: str,
    state: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = states(accounts=3)
    assert result[check] == state
    assert {other_state for name, other_state in result.items() if name != check} == {"clear"}


@pytest.mark.parametrize(
    ("variables", "litellm"),
    [
        ({"DISABLE_AIOHTTP_TRANSPORT": "True"}, {}),
        ({"LITELLM_HTTP2": "true"}, {}),
        ({}, {"disable_aiohttp_transport": True}),
    ],
)
def test_connection_limits_are_not_checked_if_the_proxy_does_not_use_aiohttp(
    states: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    litellm: dict[str, bool],
) -> None:
    for name, value in {TOTAL: "1", **variables}.items():
        monkeypatch.setenv(name, value)
    assert "provider connections" not in states(litellm=litellm)


def test_json_log_lines_are_not_costly(states: Callable[..., dict[str, str]]) -> None:
    assert states(litellm={"json_logs": True})["log lines"] == "clear"


def test_invalid_settings_cause_a_one_sentence_error(
    folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.load([folder.record(n, n * 50.0) for n in range(60)])
    path = config(tmp_path / "proxy.yaml", ROTATION, rotation={"affinity": {"backend": "disk"}})
    assert cli(["diagnose", str(folder.path), "--config", str(path)]) == WRONG_USE
    output = capsys.readouterr().err
    assert "backend" in output
    assert "doctor" in output
    assert cli(["diagnose", str(folder.path), "--workers", "2"]) == WRONG_USE
