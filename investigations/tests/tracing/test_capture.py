"""`evenkeel investigate --traces`, without proxies: functions have no requests, and the file says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from evenkeel_lab.cli.investigate.command import investigate
from evenkeel_lab.tracing.traces import FILE, read

if TYPE_CHECKING:
    from pathlib import Path


def test_the_command_keeps_traces_where_the_summary_is(tmp_path: Path, simulated: Path) -> None:
    result = CliRunner().invoke(investigate, ["simulated", "--traces"])
    assert result.exit_code == 0, result.output
    traces = read(simulated / FILE)
    assert traces.arms == {}
    assert traces.skipped == dict.fromkeys(("plain", "slower"), "only proxies have traces")
    assert (tmp_path / "reports" / "simulated.md").exists()
