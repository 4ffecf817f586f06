from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
import uv
from click.testing import CliRunner, Result

from evenkeel_lab.cli.doctor import doctor
from evenkeel_lab.doctor import Finding, Level
from evenkeel_lab.doctor.finding import as_json, sentence, summary
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

SOUND = """
model_list:
  - model_name: gpt
    litellm_params: {model: openai/gpt, api_key: os.environ/KEY_A}
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
"""
FULL_OF_SECRETS = """
environment_variables: {SOME_TOKEN: secret-1, REDIS_PASSWORD: secret-2}
model_list:
  - model_name: gpt
    litellm_params: {model: openai/gpt, api_key: secret-3, api_base: "http://u:secret-4@127.0.0.1"}
  - model_name: gpt
    litellm_params: {model: openai/gpt, api_key: os.environ/KEY_A, num_retries: 0}
litellm_settings:
  callbacks: [prometheus]
  cache: true
  cache_params: {host: 127.0.0.1, port: 1, username: secret-5, password: secret-6}
router_settings:
  redis_url: redis://:secret-7@127.0.0.1:1/0
general_settings:
  master_key: "secret-8"
  database_url: postgresql://secret-9:secret-10@127.0.0.1:1/db?password=secret-11
  coordination_redis: {url: "redis://:half/secret-12@127.0.0.1"}
"""


@pytest.fixture(autouse=True)
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    """Clients that answer at once, and an environment of ours."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("uv", "npm", "node"):
        path = bin_folder / name
        path.write_text("#!/bin/sh\necho 20.1.0\n")
        path.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(bin_folder / "uv"))
    monkeypatch.setenv("PATH", str(bin_folder))
    monkeypatch.setenv("KEY_A", "secret-20")
    monkeypatch.setenv("LITELLM_MASTER_KEY", "sk-secret-21-long-enough")
    for name in ("DATABASE_URL", "REDIS_URL", "REDIS_HOST", "NUM_WORKERS", "PROMETHEUS_MULTIPROC_DIR"):
        monkeypatch.delenv(name, raising=False)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(doctor, [*arguments], catch_exceptions=False, env={"COLUMNS": "100"})


def written(folder: Path, text: str) -> str:
    file = folder / "proxy.yaml"
    file.write_text(dedent(text))
    return str(file)


def test_a_ready_machine_has_no_errors() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert "Nothing to mend." in result.stdout
    assert "npm registry  reached through npm" in result.stdout


def test_a_sound_configuration_has_no_errors(tmp_path: Path) -> None:
    result = run("--config", written(tmp_path, SOUND))
    assert result.exit_code == 0, result.output
    assert "all 2 variables are set (proxy.yaml)" in result.stdout


def test_an_error_exits_with_1_and_names_the_line(tmp_path: Path) -> None:
    result = run("--config", written(tmp_path, "general_settings:\n  master_key: sk-1234\n"))
    assert result.exit_code == 1
    assert "(proxy.yaml:2)" in result.stdout
    assert "1 error." in result.stdout


def test_warnings_do_not_change_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY_A")
    result = run("--config", written(tmp_path, SOUND))
    assert result.exit_code == 0
    assert "1 warning." in result.stdout


def test_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    result = run("--json", "--config", written(tmp_path, "general_settings: {master_key: sk-1234}"))
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document.keys() == {"ok", "findings"}
    assert document["ok"] is False
    assert {tuple(finding) for finding in document["findings"]} == {("check", "level", "what", "where", "hint")}
    assert json.loads(run("--json").stdout)["ok"] is True


def test_the_number_of_workers_can_be_given_as_an_option(tmp_path: Path) -> None:
    file = written(tmp_path, SOUND + "litellm_settings: {callbacks: [prometheus]}\n")
    assert "4 without PROMETHEUS_MULTIPROC_DIR" in run("--config", file, "--workers", "4").stdout
    assert run("--config", file, "--workers", "0").exit_code == 2


@pytest.mark.parametrize("text", [None, "", "- a\n", "a: [\n"])
def test_wrong_use_prints_one_sentence(tmp_path: Path, text: str | None) -> None:
    path = str(tmp_path / "none.yaml") if text is None else written(tmp_path, text)
    with pytest.raises(WrongUse) as raised:
        run("--config", path)
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_secret_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:secret-22@127.0.0.1:1/db")
    monkeypatch.setenv("REDIS_URL", "redis://:half/secret-23@127.0.0.1:1")
    result = run(*options, "--config", written(tmp_path, FULL_OF_SECRETS))
    assert result.exit_code == 1
    assert "secret-" not in result.output
    assert result.output.count("127.0.0.1:1") >= 4


def test_findings_are_rendered_as_sentences() -> None:
    findings = [
        Finding("a", Level.OK, "fine"),
        Finding("b", Level.WARNING, "so so", "here:1", "Do this."),
        Finding("c", Level.ERROR, "bad", hint="Do that."),
        Finding("c", Level.ERROR, "worse"),
    ]
    assert [sentence(finding) for finding in findings] == [
        "fine.",
        "so so (here:1). Do this.",
        "bad. Do that.",
        "worse.",
    ]
    assert summary(findings) == "2 errors, 1 warning."
    assert json.loads(as_json(findings[:2])) == {
        "ok": True,
        "findings": [
            {"check": "a", "level": "ok", "what": "fine", "where": "", "hint": ""},
            {"check": "b", "level": "warning", "what": "so so", "where": "here:1", "hint": "Do this."},
        ],
    }
