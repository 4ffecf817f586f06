"""The command `evenkeel diagnose`."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import RIG_INVALID, WRONG_USE
from evenkeel_load.records import folder as names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def diagnose(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = cli(["diagnose", *map(str, arguments)])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return code, captured.out, captured.err


def record_load(folder: Any, **made: Any) -> Any:
    return folder.load([folder.record(n, n * 50.0, upstream=400.0) for n in range(600)], **made)


def test_the_report_begins_with_the_headline(folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    record_load(folder).proxy(0.2)
    code, output, _ = diagnose(capsys, folder.path)
    assert code == 0
    lines = output.splitlines()
    assert lines[1] == "upstream-bound: 99% of the time was the provider's"
    for word in ("because ", "sure: high", "hint: ", "clear  ", "unknown ", "from second", "proxy cores"):
        assert word in output


def test_the_json_document_holds_the_same_diagnosis(folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    record_load(folder)
    code, output, _ = diagnose(capsys, folder.path, "--json")
    (run,) = json.loads(output)["runs"]
    assert (code, run["bound"], run["findings"][0]["check"]) == (0, "upstream-bound", "upstream")
    assert run["findings"][0]["numbers"]["upstream_ms"] == pytest.approx(400, abs=0.01)
    assert len(run["over_time"]) == 10
    assert run["split"]["stream"] is None
    # Reading it a second time changes nothing.
    assert json.loads(diagnose(capsys, folder.path, "--json")[1])["runs"] == [run]


def test_a_rig_bound_load_has_exit_code_3(folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    record_load(folder, cpu=0.99)
    code, output, _ = diagnose(capsys, folder.path)
    assert (code, "rig-bound: a load process was busy for 99%" in output) == (RIG_INVALID, True)


def test_a_session_is_shown_with_one_line_per_run(
    another: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pair in ("000+off+on", "001+off+on", "002+off+on"):
        for arm in ("off", "on"):
            bad = (pair, arm) == ("001+off+on", "on")
            record_load(another(f"session/{pair}/{arm}"), cpu=0.99 if bad else 0.1).session(arm)
    code, output, _ = diagnose(capsys, tmp_path / "session")
    assert code == 0
    assert "000+off+on" not in output
    assert [line.split()[0] for line in output.splitlines() if "bound" in line] == [
        f"{pair}/{arm}" for pair in ("001+off+on", "002+off+on") for arm in ("off", "on")
    ]
    assert output.count("rig-bound") == 1
    code, output, _ = diagnose(capsys, tmp_path / "session" / "001+off+on", "--json")
    assert (code, len(json.loads(output)["runs"])) == (0, 2)
    assert diagnose(capsys, tmp_path / "session" / "001+off+on" / "on")[0] == RIG_INVALID


def test_runs_of_the_mock_alone_do_not_change_the_exit_code_of_a_rig_bound_session(
    another: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arm, pair in (("off", "001+off+on"), ("on", "001+off+on"), ("direct", "001+direct")):
        record_load(another(f"session/{pair}/{arm}"), cpu=0.1 if arm == "direct" else 0.99).session(arm)
    code, output, _ = diagnose(capsys, tmp_path / "session")
    assert (code, output.count("rig-bound"), output.count("upstream-bound")) == (RIG_INVALID, 2, 1)
    assert diagnose(capsys, tmp_path / "session" / "001+direct")[0] == 0


def torn(folder: Path) -> None:
    path = folder / names.RECORDS
    path.write_bytes(path.read_bytes()[:-200])


def lacking(folder: Path) -> None:
    (folder / "plan-0.json").unlink()


def tampered(folder: Path) -> None:
    (folder / "run.json").write_text('{"arm": "on"')


def other_fields(folder: Path) -> None:
    (folder / "run.json").write_text('{"arm": "on", "limited": [], "cores": []}')


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (torn, "records.parquet is damaged"),
        (lacking, "has no plan"),
        (tampered, "run.json: expected a run"),
        (other_fields, "run.json: expected a run"),
    ],
)
def test_a_damaged_folder_is_named_in_the_error(
    folder: Any, spoil: Callable[[Path], None], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record_load(folder)
    assert diagnose(capsys, folder.path)[0] == 0
    spoil(folder.path)
    code, _, output = diagnose(capsys, folder.path)
    assert code == WRONG_USE
    assert words in output
    assert "hint" in output


def test_a_path_without_a_run_is_named_in_the_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    failed = tmp_path / "failed"
    failed.mkdir()
    (failed / names.FAILURE).write_text(json.dumps({"what": "The proxy is away.", "hint": "Start it."}))
    for path, words in (
        (tmp_path / "nowhere", "There is no"),
        (file, "is no folder"),
        (tmp_path, "holds no records"),
        (failed, "The proxy is away."),
    ):
        code, _, output = diagnose(capsys, path)
        assert (code, words in output, "hint" in output) == (WRONG_USE, True, True)


def test_a_killed_load_is_diagnosed_from_the_remaining_records(folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    record_load(folder)
    (part,) = folder.path.glob(names.PARTS)
    part.write_bytes(part.read_bytes()[:-3000])
    code, output, _ = diagnose(capsys, folder.path)
    assert code == RIG_INVALID
    assert "left no record" in output
    shutil.rmtree(folder.path)
