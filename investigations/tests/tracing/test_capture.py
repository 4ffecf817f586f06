"""`evenkeel investigate --traces`, without proxies: functions have no requests, and the file says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from evenkeel_lab.cli.investigate.command import investigate
from evenkeel_lab.tracing.traces import FILE, read

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEXT = """
title = "Simulated"
question = "Is it slower?"
hypothesis = "It is."
baseline = "plain"
[arms.plain]
about = "a simulation"
subject = "function"
function = "fractions:Fraction"
arguments = { denominator = 3 }
[arms.slower]
about = "a slower one"
subject = "function"
function = "fractions:Fraction"
arguments = { denominator = 2 }
[figures.value]
margin = 0.05
primary = true
"""


def test_the_command_keeps_traces_where_the_summary_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "investigations" / "simulated"
    folder.mkdir(parents=True)
    (folder / "investigation.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(investigate, ["simulated", "--traces"])
    assert result.exit_code == 0, result.output
    traces = read(folder / FILE)
    assert traces.arms == {}
    assert traces.skipped == dict.fromkeys(("plain", "slower"), "only proxies have traces")
    assert (tmp_path / "reports" / "simulated.md").exists()
