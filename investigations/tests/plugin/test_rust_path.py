"""The plugin's callbacks keep no request off LiteLLM's Rust path: LiteLLM's own catalog says so."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.bench.prometheus_callback.replay_process import python_of
from evenkeel_lab.stack.folders import log_folder
from evenkeel_lab.stack.litellm.environment import plugin_folder
from litellm_evenkeel import proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.slow

VERSION = "1.110.2"
PROGRAM = Path(__file__).with_name("rust_path.py")
CALLBACKS = (
    "rotation",
    "rotation with header",
    "prometheus",
    "prometheus with budgets",
    "journal",
    "gc_freeze",
    "lean",
)
ANTHROPIC = ("messages dispatch", "messages adispatch")


@pytest.fixture(scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """LiteLLM's catalog without a callback, with a callback that has all hooks, and with each of ours."""
    python = await python_of(VERSION, log_folder() / "setup.log")
    child = await asyncio.create_subprocess_exec(
        python,
        PROGRAM,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(await plugin_folder())},
        cwd=tmp_path_factory.mktemp("rust_path"),
    )
    out, errors = await child.communicate()
    assert child.returncode == 0, errors.decode(errors="replace")[-2_000:]
    found: Mapping[str, Any] = json.loads(out)
    return found


def test_without_callbacks_anthropic_messages_may_go_through_rust(seen: Mapping[str, Any]) -> None:
    assert {seen["none"][route]["rollout"] for route in ANTHROPIC} == {"RUST_OPT_IN"}
    assert not any(told["features"] for told in seen["none"].values())


def test_a_callback_with_such_hooks_is_detected(seen: Mapping[str, Any]) -> None:
    assert {seen["hooked"][route]["rollout"] for route in ANTHROPIC} == {"PYTHON_ONLY"}
    features = {feature for told in seen["hooked"].values() for feature in told["features"]}
    assert features == {"agentic_loop_hook", "deployment_hook", "pre_request_hook"}


def test_all_callbacks_of_the_plugin_are_among_them(seen: Mapping[str, Any]) -> None:
    assert set(seen) == {"none", "hooked", *CALLBACKS}
    assert {name.partition(" ")[0] for name in CALLBACKS} == set(proxy.CALLBACKS)


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_of_the_plugin_changes_nothing(seen: Mapping[str, Any], name: str) -> None:
    assert seen[name] == seen["none"]
