"""`evenkeel init`: the difference, the file, and the way back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
model_list:
  - model_name: a   # ours
    litellm_params: {model: openai/a, api_key: os.environ/KEY_ACME}
""".replace("\n", "\r\n")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "proxy.yaml"
    path.write_bytes(TEXT.encode())
    path.chmod(0o600)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli(["init", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_nothing_is_written_without_write(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--config", str(config))
    assert code == 0
    assert "+litellm_settings" in out
    assert "Nothing is written yet" in out
    assert config.read_bytes() == TEXT.encode()


def test_what_is_written_is_undone_byte_for_byte(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--config", str(config), "--write")[0] == 0
    written = config.read_bytes()
    assert b"litellm_evenkeel.proxy.rotation" in written
    assert written.count(b"\n") == written.count(b"\r\n")
    assert config.stat().st_mode & 0o777 == 0o600
    assert "has the plugin already" in run(capsys, "--config", str(config), "--write")[1]
    assert run(capsys, "--config", str(config), "--undo")[0] == 0
    assert config.read_bytes() == TEXT.encode()
    assert [path.name for path in config.parent.iterdir()] == ["proxy.yaml"]


def test_a_file_that_was_changed_since_is_not_overwritten(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--config", str(config), "--write")
    config.write_text(config.read_text() + "# mine\n")
    code, _, error = run(capsys, "--config", str(config), "--undo")
    assert code == 2
    assert "was changed after" in error
    assert config.read_text().endswith("# mine\n")


def test_wrong_use_is_one_sentence(tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--config", str(config), "--undo")[0] == 2
    assert run(capsys, "--config", str(config), "--write", "--undo")[0] == 2
    assert run(capsys, "--config", str(tmp_path / "none.yaml"))[0] == 2
    config.write_bytes(b"\xff")
    code, _, error = run(capsys, "--config", str(config))
    assert (code, "not UTF-8" in error) == (2, True)


def test_changes_as_json(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--config", str(config), "--json")
    document = json.loads(out)
    assert document["written"] is False
    assert any("rotation" in change["what"] for change in document["changes"])


def test_a_link_stays_a_link(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = config.with_name("link.yaml")
    link.symlink_to(config)
    assert run(capsys, "--config", str(link), "--write")[0] == 0
    assert link.is_symlink()
    assert b"litellm_evenkeel" in config.read_bytes()
    assert run(capsys, "--config", str(link), "--undo")[0] == 0
    assert config.read_bytes() == TEXT.encode()


def test_a_second_write_can_be_undone_too(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--config", str(config), "--write")
    more = config.read_text() + "x: 1\n"
    config.write_text(more.replace("litellm_evenkeel.proxy.journal", "mine"))
    before = config.read_bytes()
    assert run(capsys, "--config", str(config), "--write")[0] == 0
    assert run(capsys, "--config", str(config), "--undo")[0] == 0
    assert config.read_bytes() == before


def test_an_included_section_that_would_win_is_an_error(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.with_name("more.yaml").write_text("litellm_settings: {drop_params: true}\n")
    config.write_text(f"include: [more.yaml]\n{TEXT}")
    code, _, error = run(capsys, "--config", str(config), "--write")
    assert code == 2
    assert "more.yaml has litellm_settings, which LiteLLM takes instead of those in proxy.yaml" in " ".join(
        error.split()
    )
