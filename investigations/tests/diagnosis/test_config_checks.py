"""What a configuration does for each request, entry by entry of the checklist."""

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
        {"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"http://host{one}/v1"}}
        for one in range(accounts)
    ]
    said = {
        "model_list": models,
        "litellm_settings": {"callbacks": list(callbacks), **(litellm or {})},
        "general_settings": general or {},
        "evenkeel": ours,
    }
    path.write_text(yaml.safe_dump(said), encoding="utf-8")
    return path


@pytest.fixture
def states(folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, str]]:
    folder.load([folder.record(n, n * 50.0, upstream=400.0) for n in range(600)])

    def asked(*callbacks: str, options: tuple[str, ...] = (), **said: Any) -> dict[str, str]:
        path = config(tmp_path / "proxy.yaml", *callbacks, **said)
        assert cli(["diagnose", str(folder.path), "--config", str(path), *options, "--json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return {one["check"]: one["state"] for one in run["findings"] if one["check"] in ALL}

    return asked


def test_nothing_of_a_plain_proxy_costs(states: Callable[..., dict[str, str]]) -> None:
    assert states() == {"log lines": "clear", "provider connections": "clear", "spend": "clear"}


def test_nothing_of_the_plugin_with_its_defaults_costs(states: Callable[..., dict[str, str]]) -> None:
    found = states(ROTATION, JOURNAL, accounts=1000)
    assert {found[check] for check in ("pins", "journal", "snapshot")} == {"clear"}


@pytest.mark.parametrize(
    ("check", "said"),
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
def test_what_is_done_for_each_request_is_named(
    states: Callable[..., dict[str, str]], check: str, said: dict[str, Any]
) -> None:
    found = states(ROTATION, JOURNAL, **said)
    assert [name for name, state in found.items() if state == "costs"] == [check]


def test_the_stock_callback_is_named(states: Callable[..., dict[str, str]]) -> None:
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
        ({PER_HOST: "4"}, "provider connections", "untold"),
        ({PER_HOST: "9"}, "provider connections", "clear"),
        ({PER_HOST: "2"}, "provider connections", "costs"),
        ({PER_HOST: "0", TOTAL: "4"}, "provider connections", "costs"),
        ({PER_HOST: "0", TOTAL: "0"}, "provider connections", "clear"),
        ({PER_HOST: "many"}, "provider connections", "clear"),
    ],
)
def test_what_the_environment_says_counts(
    states: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    check: str,
    state: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = states(accounts=3)
    assert found[check] == state
    assert {one for name, one in found.items() if name != check} == {"clear"}


@pytest.mark.parametrize(
    ("variables", "litellm"),
    [
        ({"DISABLE_AIOHTTP_TRANSPORT": "True"}, {}),
        ({"LITELLM_HTTP2": "true"}, {}),
        ({}, {"disable_aiohttp_transport": True}),
    ],
)
def test_limits_of_connections_that_nobody_keeps_are_left_out(
    states: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    litellm: dict[str, bool],
) -> None:
    for name, value in {TOTAL: "1", **variables}.items():
        monkeypatch.setenv(name, value)
    assert "provider connections" not in states(litellm=litellm)


def test_lines_that_are_only_written_otherwise_cost_nothing(states: Callable[..., dict[str, str]]) -> None:
    assert states(litellm={"json_logs": True})["log lines"] == "clear"


def test_settings_that_cannot_be_are_a_sentence(
    folder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.load([folder.record(n, n * 50.0) for n in range(60)])
    path = config(tmp_path / "proxy.yaml", ROTATION, rotation={"affinity": {"backend": "disk"}})
    assert cli(["diagnose", str(folder.path), "--config", str(path)]) == WRONG_USE
    told = capsys.readouterr().err
    assert "backend" in told
    assert "doctor" in told
    assert cli(["diagnose", str(folder.path), "--workers", "2"]) == WRONG_USE
