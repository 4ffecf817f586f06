"""`evenkeel journal`, on files as the plugin writes them."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.cli import cli
from litellm_evenkeel.journal.record import COLUMNS
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from litellm_evenkeel.journal.record import RequestRecord


def journal(path: Path, records: list[RequestRecord]) -> str:
    with closing(SqliteStore(path)) as store:
        store.write(records)
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    now = int(time.time() * 1e6)
    several = [
        row(number)._replace(time=now - number * 1_000_000, account=f"a{number % 2}") for number in range(1, 101)
    ]
    several[0] = several[0]._replace(status=429, error="RateLimitError")
    return journal(tmp_path / "j.db", several)


def test_the_newest_are_shown_last(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "tail", file, "-n", "3"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("time")
    assert len(lines) == 3
    assert "429" in lines[-1]
    assert "RateLimitError" in lines[-1]


def test_only_those_that_are_asked_for_are_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "tail", file, "-n", "1", "--failed", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["status"] == 429
    assert cli(["journal", "tail", file, "-n", "50", "--account", "a0", "--json"]) == 0
    assert {json.loads(line)["account"] for line in capsys.readouterr().out.splitlines()} == {"a0"}


def test_whoever_looks_for_few_among_many_is_told_where_the_look_ended(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evenkeel_lab.cli.journal.MOST_LOOKED_AT", 40)
    assert cli(["journal", "tail", file, "--account", "a0", "-n", "21", "--json"]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 20
    assert "looked at the newest 40 records, back to " in shown.err
    # Where all that were asked for are found, or all rows were looked at, there is nothing to say.
    assert cli(["journal", "tail", file, "--account", "a0", "-n", "20"]) == 0
    monkeypatch.setattr("evenkeel_lab.cli.journal.MOST_LOOKED_AT", 101)
    assert cli(["journal", "tail", file, "--failed"]) == 0
    assert capsys.readouterr().err == ""


def test_requests_are_counted_by_what_is_asked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "stats", file, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["account"]: one["requests"] for one in told["groups"]} == {"a0": 50, "a1": 50}
    assert told["total"]["failed"] == 1
    assert told["total"]["p50_seconds"] == 0.25
    # Five requests of a hundred lie beyond it.
    assert told["total"]["p95_seconds"] is None
    assert told["gaps"] == 0
    assert cli(["journal", "stats", file, "--by", "status"]) == 0
    assert "429" in capsys.readouterr().out


def test_only_some_time_is_counted(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "stats", file, "--since", "30s", "--json"]) == 0
    assert 20 <= json.loads(capsys.readouterr().out)["total"]["requests"] <= 30
    assert cli(["journal", "stats", file, "--since", "soon"]) == 2


@pytest.mark.parametrize("ago", ["21000d", "900000d", "99999999999999w", "9" * 20])
def test_whoever_looks_back_further_than_there_is_time_sees_all(
    file: str, ago: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["journal", "stats", file, "--since", ago, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["requests"] == 100
    # The duration is checked before the server is reached.
    assert cli(["journal", "stats", "postgresql://me@127.0.0.1:9/x", "--since", ago]) == 3


def test_rows_that_were_lost_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal(tmp_path / "j.db", [row(1), row(2), row(5)])
    assert cli(["journal", "stats", path]) == 0
    assert "missing records: 2" in capsys.readouterr().out


def test_an_empty_journal_is_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal(tmp_path / "j.db", [])
    for asked in (["tail"], ["stats"], ["stats", "--by", "key", "--json"], ["export"]):
        assert cli(["journal", asked[0], path, *asked[1:]]) == 0
    assert "0" in capsys.readouterr().out


def test_rows_are_written_for_other_programs(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "export", file, "--to", str(tmp_path / "j.csv")]) == 0
    with (tmp_path / "j.csv").open(newline="") as told:
        head, *rows = csv.reader(told)
    assert tuple(head) == COLUMNS
    assert len(rows) == 100
    assert cli(["journal", "export", file, "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["number"] for one in lines] == list(range(100, 0, -1))
    assert cli(["journal", "export", file, "--to", str(tmp_path / "j.xlsx")]) == 2


def test_what_could_not_be_read_takes_no_file_s_place(file: str, tmp_path: Path) -> None:
    before = tmp_path / "j.csv"
    before.write_text("precious")
    link = tmp_path / "link.db"
    link.hardlink_to(file)
    assert cli(["journal", "export", "postgresql://me@127.0.0.1:9/x", "--to", str(before)]) == 3
    assert before.read_text() == "precious"
    assert cli(["journal", "export", file, "--to", str(link), "--format", "csv"]) == 2
    assert cli(["journal", "export", file, "--to", str(before)]) == 0
    assert len(before.read_text().splitlines()) == 101
    assert sorted(one.suffix for one in tmp_path.iterdir() if "new" in one.name) == []


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_what_a_client_sends_is_no_formula_of_a_spreadsheet(
    sign: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = f'{sign}HYPERLINK("http://x", "y")'
    path = journal(tmp_path / "j.db", [row(1)._replace(model=asked, cost=-1.0, account=f"a{sign}1")])
    assert cli(["journal", "export", path]) == 0
    (told,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (told["model"], told["cost"], told["account"]) == (f"'{asked}", "-1.0", f"a{sign}1")
    assert cli(["journal", "export", path, "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == asked


def test_a_journal_is_moved_and_compared(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Nothing is on its way here.
    monkeypatch.setattr("evenkeel_lab.cli.journal.ARRIVES_SECONDS", 0)
    there = str(tmp_path / "there.db")
    assert cli(["journal", "migrate", file, there, "--json"]) == 0
    told = {"looked_at": 100, "brought": 100, "compared": 100, "mismatches": 0}
    assert json.loads(capsys.readouterr().out) == told
    assert cli(["journal", "migrate", file, there, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told | {"looked_at": 0, "brought": 0}
    with closing(sqlite3.connect(there)) as other, other:
        other.execute("UPDATE evenkeel_journal SET cost = 9 WHERE number = 7")
        other.execute("DELETE FROM evenkeel_journal WHERE number = 8")
    assert cli(["journal", "migrate", file, there, "--verify"]) == 1
    shown = capsys.readouterr()
    assert "2 differ" in shown.out
    assert "record 7 of writer 1 differs in the target" in shown.err
    assert "record 8 of writer 1 is missing in the target" in shown.err
    assert "migrate --anew" in shown.err
    assert cli(["journal", "migrate", file, there, "--anew", "--json"]) == 1
    told = {"looked_at": 100, "brought": 1, "compared": 100, "mismatches": 1}
    assert json.loads(capsys.readouterr().out) == told
    assert cli(["journal", "migrate", file, there, "--anew", "--verify"]) == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["tail", "none.db"], "There is no journal at none.db"),
        (["tail", "."], "There is no journal at ."),
        (["stats", "nowhere/none.db"], "There is no folder for nowhere/none.db"),
        (["tail", "os.environ/NOT THERE"], "name of a variable"),
        (["tail", "text.db"], "not a SQLite file"),
        (["tail", "os.environ/NOT_THERE"], "there is no NOT_THERE in the environment"),
        (["migrate", "j.db", "j.db"], "is both"),
        (["migrate", "j.db", "link.db"], "is both"),
        (["migrate", "j.db", "."], ". is a folder"),
        (["migrate", "j.db", ""], "TO is a folder"),
        (["stats", "postgresql://me@127.0.0.1:9/x?sslmode=nonsense"], "sslmode"),
        (["stats", "cut.db"], "cut.db is damaged"),
        (["migrate", "none.db", "there.db"], "There is no journal"),
        (["export", "j.db", "--to", "nowhere/x.csv"], "There is no folder for nowhere/x.csv"),
        (["export", "j.db", "--to", "j.db", "--format", "csv"], "j.db is the journal itself"),
    ],
)
def test_a_mistake_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").hardlink_to(journal(tmp_path / "j.db", [row(1)]))
    whole = journal(tmp_path / "whole.db", [row(number) for number in range(1, 501)])
    (tmp_path / "cut.db").write_bytes(Path(whole).read_bytes()[:40_000])
    (tmp_path / "text.db").write_text("This is no database, but a text that is long enough to be read as one." * 20)
    assert cli(["journal", *asked]) in {2, 3}
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "there.db").exists() or "both" in said


def test_a_source_that_holds_no_journal_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE other (one)")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("This is no database, but a text that is long enough to be read as one." * 20)
    there = tmp_path / "there.db"
    for name in ("other.db", "empty.db", "text.db"):
        assert cli(["journal", "migrate", str(tmp_path / name), str(there)]) == 2
        assert f"{name} " in capsys.readouterr().err
        assert not there.exists()


@pytest.mark.parametrize("only", [[], ["--verify"]])
def test_of_two_journals_the_one_that_fails_is_named(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], only: list[str]
) -> None:
    nowhere, there = "postgresql://me:secret@127.0.0.1:9/x", journal(tmp_path / "there.db", [])
    for two in ((nowhere, there), (file, nowhere)):
        assert cli(["journal", "migrate", *two, *only]) == 3
        assert "error  postgresql://127.0.0.1:9/x: " in capsys.readouterr().err
    with closing(sqlite3.connect(there)) as other, other:
        other.execute("DROP TABLE evenkeel_journal")
    for two in ((there, file), (file, there)):
        assert cli(["journal", "migrate", *two, *only]) == 2
        assert f"error  {there} holds no journal that can be read" in capsys.readouterr().err


def test_a_host_that_cannot_be_one_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "tail", "postgresql://me:secret@a..b/x"]) == 3
    assert "error  postgresql://a..b/x: " in capsys.readouterr().err


def test_a_server_that_is_not_there_is_told_without_its_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "tail", "postgresql://me:secret@127.0.0.1:9/x"]) == 3
    shown = capsys.readouterr().err
    assert "127.0.0.1:9/x" in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    "told",
    [
        "postgresql+asyncpg://me:sekret@db/x",
        "'postgresql://me:sekret@db/x'",
        " postgres://me:sekret@db/x",
        "postgresql:/me:sekret@db/x",
        "mysql://me:sekret@db/x",
        "postgresql://me:sekret@db:port/x",
        "postgresql://me:1/sekret@db/x",
        "postgresql://me:1?sekret@db/x",
        "postgresql://sekret@db/a#@",
        "os.environ/postgresql://me:sekret@db/x",
        "me:sekret@db/x",
        "host=db password=sekret",
    ],
)
def test_what_is_no_address_is_told_without_its_password(
    told: str, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOLD", told)
    monkeypatch.setenv("EVENKEEL_JOURNAL_PATH", told)
    for asked, by in ((["tail", told], "FILE | URL"), (["tail", "os.environ/TOLD"], "TOLD"), (["stats"], "_PATH")):
        assert cli(["journal", *asked]) == 2
        shown = capsys.readouterr().err
        assert by in shown
        assert "sekret" not in shown
    for asked, by in (([file, told], "TO: "), ([told, file], "FROM")):
        assert cli(["journal", "migrate", *asked]) == 2
        shown = capsys.readouterr().err
        assert by in shown
        assert "sekret" not in shown


def test_nothing_of_the_environment_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sekret.db").write_text("This is no database, but a text that is long enough to be read as one." * 20)
    for told, code in (
        ("host=db password=sekret", 2),
        ("sekret/j.db", 2),
        ("sekret" * 99, 2),
        (str(tmp_path / "sekret.db"), 2),
        ("postgresql://me@127.0.0.1:9/sekret", 3),
    ):
        monkeypatch.setenv("TOLD", told)
        assert cli(["journal", "tail", "os.environ/TOLD"]) == code
        shown = capsys.readouterr().err
        assert "os.environ/TOLD" in shown
        assert "sekret" not in shown


def test_a_scheme_may_be_written_in_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["journal", "tail", "PostgreSQL://me:sekret@127.0.0.1:9/x"]) == 3
    shown = capsys.readouterr().err
    assert "127.0.0.1:9/x" in shown
    assert "sekret" not in shown


def test_who_has_read_enough_may_go(file: str) -> None:
    evenkeel = Path(sys.executable).with_name("evenkeel")
    with subprocess.Popen(
        [evenkeel, "journal", "export", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as exporting:
        assert exporting.stdout is not None
        assert exporting.stderr is not None
        # Before it has written anything: then its first record has no reader.
        exporting.stdout.close()
        assert exporting.stderr.read() == b""
