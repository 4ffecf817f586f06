"""Examples in README and docs: every configuration is valid, every command exists, and those for anywhere run."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml
from documented_examples import ROOT, Block, blocks, simple_commands

from evenkeel_lab.cli import cli, evenkeel
from evenkeel_lab.investigation_spec import Investigation, template
from evenkeel_load.analysis.criteria import read_criteria
from evenkeel_mock import config as mock_config
from litellm_evenkeel.proxy import CALLBACKS
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.settings import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.docs

LANGUAGES = {"console", "diff", "python", "text", "toml", "yaml"}
# What a shell, or another tool than ours, does. Tests cannot run these: `.ci/wheel` installs the wheel with pip.
OTHER_TOOLS = {
    *("cd", "cp", "curl", "eval", "export", "for", "make", "mkdir"),
    *("docker", "helm", "kubectl", "pip", "uv", "/path/to/the/proxy/venv/bin/pip"),
}
PROXY_SECTIONS = {"evenkeel", "general_settings", "litellm_settings", "model_list", "router_settings"}
VARIABLES = {"KEY_A": "sk-a", "KEY_B": "sk-b", "REDIS_URL": "redis://127.0.0.1:6379/0"}
PROXY = """\
model_list:
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_key: os.environ/KEY_A}
"""
ANYWHERE = {"rules", "dashboard", "settings", "doctor", "init"}


def of(language: str) -> list[Any]:
    return [pytest.param(block, id=str(block)) for block in blocks(language)]


def evenkeel_commands() -> list[tuple[Block, list[str]]]:
    return [
        (block, words[1:])
        for block in blocks("console")
        for command in block.commands
        for words in simple_commands(command)
        if words[0] == "evenkeel"
    ]


def test_every_block_names_its_language() -> None:
    assert [str(block) for block in blocks() if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", of("console"))
def test_every_command_is_ours_or_of_a_known_tool(block: Block) -> None:
    names = {words[0] for command in block.commands for words in simple_commands(command)}
    assert names <= OTHER_TOOLS | {"evenkeel", "locust"}
    assert block.commands


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=f"{block} {' '.join(words)}") for block, words in evenkeel_commands()]
)
def test_every_command_has_the_options_that_are_shown(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("proxy.yaml", "evenkeel-journal.db", "off.csv", "on.csv"):
        (tmp_path / name).touch()
    for name in ("before", "after", "run", "run-with-stub", "slow", "data/NAME/DIGEST/003+off+on/on"):
        (tmp_path / name).mkdir(parents=True)
    given = [{"URL": "http://127.0.0.1:1", "PID": str(os.getpid())}.get(word, word) for word in words]
    command: click.Command = evenkeel
    context = click.Context(command, info_name="evenkeel")
    while isinstance(command, click.Group):
        name, found, given = command.resolve_command(context, given)
        assert name is not None
        assert found is not None
        command = found
        if not isinstance(command, click.Group):
            command.make_context(name, given, parent=context)


@pytest.mark.parametrize("block", of("yaml"))
def test_every_yaml_is_valid_where_it_belongs(block: Block) -> None:
    shown = yaml.safe_load(re.sub(r"os\.environ/(\w+)", lambda match: VARIABLES[match[1]], block.text))
    if "seed" in shown:
        assert mock_config.parse(shown, 0).models == tuple(shown["models"])
    elif shown.keys() <= PROXY_SECTIONS:
        own = settings(shown.get("evenkeel"))
        for deployment in shown.get("model_list", ()):
            DeploymentSpec.from_litellm(deployment, own.rotation.accounts)
        for callback in shown.get("litellm_settings", {}).get("callbacks", ()):
            assert callback in {f"litellm_evenkeel.proxy.{name}" for name in CALLBACKS}
    else:
        # A part of a deployment.
        (name,) = shown
        assert name in {"limits", "model_info"}
        info = shown if name == "limits" else shown["model_info"]
        DeploymentSpec.from_litellm({"litellm_params": {"model": "openai/gpt-4o"}, "model_info": info}, {})


@pytest.mark.parametrize("block", of("toml"))
def test_every_toml_is_valid_where_it_belongs(block: Block, tmp_path: Path) -> None:
    shown = tomllib.loads(block.text)
    if "arms" in shown:
        whole = copy.deepcopy(tomllib.loads(template("json_logs")))
        (changed_arm,) = [name for name in whole["arms"] if name != whole["baseline"]]
        del whole["arms"][changed_arm]
        whole["arms"] |= shown["arms"]
        assert Investigation.model_validate(whole).arms.keys() >= shown["arms"].keys()
    else:
        path = tmp_path / "criteria.toml"
        path.write_text(block.text)
        assert read_criteria(path)


@pytest.mark.parametrize("block", of("python"))
def test_every_python_example_imports_what_exists(block: Block) -> None:
    imports = "\n".join(re.findall(r"^(?:from|import) .*", block.text, re.MULTILINE))
    compile(block.text, str(block), "exec")
    # Locust patches what it imports, so this is a process of its own.
    subprocess.run([sys.executable, "-c", imports], check=True, capture_output=True)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, id=f"{block} {' '.join(words)}")
        for block, words in evenkeel_commands()
        if words[0] in ANYWHERE
    ],
)
def test_commands_that_need_no_proxy_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proxy.yaml").write_text(PROXY)
    code = cli(words)
    # A finding about this machine, or about a single account, is no fault of the example.
    assert code == 0 or (words[0] == "doctor" and code == 1), capsys.readouterr().err


def test_paths_that_commands_name_are_in_the_repository() -> None:
    named = {
        match
        for block in blocks("console")
        for command in block.commands
        for match in re.findall(r"\b(?:deploy|loadtest)/[\w./-]*\w", command)
    }
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
