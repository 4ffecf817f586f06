"""Sessions of functions: the engine without the minutes that proxies take."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from evenkeel_lab.cli.investigate import investigate
from evenkeel_lab.errors import RIG_INVALID, RigFailure, WrongUse
from evenkeel_lab.experiment import Investigation, template
from evenkeel_lab.progress import Silent
from evenkeel_lab.report.doubts import doubts
from evenkeel_lab.session.arms import Target
from evenkeel_lab.session.function import call
from evenkeel_lab.session.judge import Judgement, judge_session
from evenkeel_lab.session.meetings import Meeting, meetings
from evenkeel_lab.session.run import Run
from evenkeel_lab.session.session import Session
from evenkeel_lab.session.store import Store, digest
from evenkeel_lab.session.summary import gather, read
from evenkeel_lab.session.warm_up import COLD
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.verdicts import Kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.experiment import Arm
    from evenkeel_lab.session.subjects import Subjects
    from evenkeel_lab.session.warm_up import WarmUp

FUNCTION = "evenkeel_lab.bench.simulation:median"
BOOK = 'title = "x"\nquestion = "Why?"\nmethod = "x"\nlimits = ["x"]\n'


def investigation(effect: float, *, looks: tuple[int, ...] = (6,)) -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "plain",
            "arms": {
                "plain": {"about": "a simulation", "subject": "function", "function": FUNCTION},
                "slower": {
                    "about": "a slower one",
                    "subject": "function",
                    "function": FUNCTION,
                    "arguments": {"effect": effect},
                },
            },
            "figures": {"value": {"margin": 0.05, "primary": True}},
            "session": {"looks": looks},
        }
    )


class Listening:
    """Remembers which meetings have come to their end, and stops at one of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.heard: list[str] = []
        self._stop_after = stop_after

    def meeting(self, meeting: Meeting, runs: list[Run], judgement: Judgement, left: float) -> None:
        self.heard.append(meeting.name)
        if len(self.heard) == self._stop_after:
            raise KeyboardInterrupt


def session(folder: Path, wanted: Investigation, told: Listening | None = None) -> Session:
    return Session("x", wanted, Store(folder), Options(), Silent(), told or Listening(), Event())


def test_a_large_effect_is_found_and_ends_the_session_at_the_first_look(tmp_path: Path) -> None:
    told = Listening()
    wanted = investigation(0.3, looks=(6, 12, 24))
    found = asyncio.run(session(tmp_path, wanted, told).conduct())
    assert len(told.heard) == 6
    (comparison,) = found.comparisons
    assert comparison.figures[0].verdict is not None
    assert (comparison.figures[0].verdict.kind, found.settled, found.invalid) == (Kind.MATERIAL, True, [])


def test_a_stopped_session_goes_on_where_it_was(tmp_path: Path) -> None:
    wanted = investigation(0.3)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(session(tmp_path / "stopped", wanted, Listening(stop_after=4)).conduct())
    # As if it had been killed while it wrote.
    with (tmp_path / "stopped" / "meetings.jsonl").open("a") as file:
        file.write('{"meeting": "00')
    rest = Listening()
    resumed = asyncio.run(session(tmp_path / "stopped", wanted, rest).conduct())
    whole = asyncio.run(session(tmp_path / "whole", wanted).conduct())
    assert len(rest.heard) == 2
    assert resumed.comparisons == whole.comparisons
    # Once more there is nothing left to do.
    again = Listening()
    assert asyncio.run(session(tmp_path / "whole", wanted, again).conduct()).comparisons == whole.comparisons
    assert again.heard == []


def test_nobody_measures_where_somebody_does_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    assert told(tmp_path, monkeypatch, "simulated").exit_code == 0
    (place,) = (tmp_path / "data" / "simulated").iterdir()
    before = (place / "meetings.jsonl").read_bytes()
    with Store(place).claimed():
        answer = told(tmp_path, monkeypatch, "simulated", "--fresh")
    assert isinstance(answer.exception, WrongUse)
    assert "is being measured already" in str(answer.exception)
    assert (place / "meetings.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("session.json", "{", "cannot be read"),
        ("session.json", '{"schema": 99}', "of schema 99"),
        ("meetings.jsonl", "nonsense\n", "line 1, cannot be read"),
        ("meetings.jsonl", '{"meeting": "x", "runs": [{}]}\n', "line 1, is not what was written"),
        ("meetings.jsonl", '{"meeting": "001+a+b", "pair": 1, "runs": []}\n', "line 1, is not what was written"),
        ("session.json", "[]", "of schema None"),
        ("session.json", '{"schema": 3}', "name: field required"),
        ("warm-up.json", "", "cannot be read"),
        ("warm-up.json", "[]", "is not what was written"),
    ],
)
def test_a_folder_that_was_tampered_with_is_told(tmp_path: Path, name: str, content: str, told: str) -> None:
    asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    (tmp_path / name).write_text(content)
    store = Store(tmp_path)
    with pytest.raises(RigFailure, match=told):
        {"session.json": store.head, "meetings.jsonl": store.done, "warm-up.json": store.warm_up}[name]()


def test_other_words_ask_for_nothing_else(tmp_path: Path) -> None:
    wanted = investigation(0.3)
    other = wanted.model_copy(update={"title": "y", "question": "y"})
    assert digest(wanted) == digest(other) != digest(investigation(0.4))
    asyncio.run(session(tmp_path, wanted).conduct())
    rest = Listening()
    asyncio.run(session(tmp_path, other, rest).conduct())
    assert rest.heard == []
    assert gather(Store(tmp_path)).investigation.title == "y"


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        ("evenkeel_lab.bench.simulation:nothing", {}, "no function"),
        ("evenkeel_lab.bench.simulation:RUN", {}, "is no function"),
        ("math:sqrt", {"effect": 1}, "of slower, has failed with seed"),
        ("math:log1p", {}, None),
        ("builtins:str", {}, "has returned '"),
        ("builtins:bool", {}, "has returned True"),
        (FUNCTION, {"effect": float("inf")}, "of slower, has"),
    ],
)
def test_a_function_that_tells_no_number_is_a_sentence(
    tmp_path: Path, function: str, arguments: dict[str, Any], told: str | None
) -> None:
    asked = investigation(0.3).model_dump()
    asked["arms"]["slower"] |= {"function": function, "arguments": arguments}
    wanted = session(tmp_path, Investigation.model_validate(asked))
    if told is None:
        asyncio.run(wanted.conduct())
        return
    with pytest.raises(WrongUse, match=told):
        asyncio.run(wanted.conduct())


def test_runs_of_a_subject_that_is_not_warm_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def cold(_: str, warm_up: WarmUp, *__: object, measured: bool, **___: object) -> AsyncIterator[Subjects]:
        assert measured
        warm_up.costs["slower"] = [90.0, 60.0, 50.0]  # and nobody tells what its runs cost, so it stays so
        yield lambda meeting: contextlib.nullcontext({name: Target(name, name, "", "", "") for name in meeting.arms})

    monkeypatch.setattr("evenkeel_lab.session.session.subjects", cold)
    found = asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    runs = [run for runs in Store(tmp_path).done().values() for run in runs]
    assert {(run.arm, run.limited) for run in runs} == {("plain", ()), ("slower", (COLD,))}
    assert not found.settled
    assert found.invalid == [f"gates: 6 pairs of slower against plain are invalid: pair 1: {COLD}"]


def test_functions_are_called_one_after_the_other(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    for runs in Store(tmp_path).done().values():
        first, second = sorted(runs, key=lambda run: run.start_ns)
        assert first.start_ns + first.seconds * 1e9 <= second.start_ns + 1e6
        assert not first.cores


def runs(meeting: Meeting, value: float, limited: tuple[str, ...] = ()) -> list[Run]:
    base = 100 + meeting.pair % 3
    return [
        Run(arm, 0, 1.0, 100, {"p50": base * (value if arm in {"on", "again"} else 1.0)}, limited=limited)
        for arm in meeting.arms
    ]


def proxies() -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "off",
            "arms": {"off": {"about": "off"}, "on": {"about": "on", "prometheus": "stock"}},
            "figures": {"p50": {"margin": 0.05, "primary": True}, "p99": {"margin": 0.1}},
            "session": {"looks": [12]},
        }
    )


def test_a_difference_between_two_that_are_the_same_invalidates_everything() -> None:
    wanted = proxies()
    done = {one.name: runs(one, 1.2 + one.pair / 1000) for one in meetings(wanted, 12)}
    found = judge_session(wanted, done, 12)
    assert found.settled
    assert found.invalid == ["noise: p50 differs between two proxies that are the same"]
    assert any("untold: p99" in why for one in found.comparisons for why in one.warnings)


def test_one_that_is_shown_to_be_within_the_margin_is_the_noise_floor() -> None:
    wanted = proxies()
    done = {one.name: runs(one, 1.01 + one.pair / 10_000) for one in meetings(wanted, 12)}
    found = judge_session(wanted, done, 12)
    verdict = found.comparisons[-1].figures[0].verdict
    assert verdict is not None
    assert (verdict.kind, found.invalid) == (Kind.NEGLIGIBLE, [])


def test_runs_that_failed_a_gate_do_not_count_and_many_of_them_invalidate_everything() -> None:
    wanted = proxies()
    late = ("requests were sent late",)
    done = {one.name: runs(one, 1.0, late if one.pair <= 2 else ()) for one in meetings(wanted, 12)}
    found = judge_session(wanted, done, 12)
    assert [one.pairs for one in found.comparisons] == [10, 10]
    assert found.invalid == []
    done = {one.name: runs(one, 1.0, late if one.pair <= 4 else ()) for one in meetings(wanted, 12)}
    invalid = judge_session(wanted, done, 12).invalid
    assert len(invalid) == 2
    assert all(why.startswith("gates: 4 pairs") for why in invalid)


def told(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(investigate, list(arguments))


def write(folder: Path, effect: float) -> None:
    place = folder / "investigations" / "simulated"
    place.mkdir(parents=True)
    place.joinpath("investigation.toml").write_text(
        f"""
        title = "Simulated"
        question = "Is it slower?"
        hypothesis = "It is."
        baseline = "plain"
        [arms.plain]
        about = "a simulation"
        subject = "function"
        function = "{FUNCTION}"
        [arms.slower]
        about = "a slower one"
        subject = "function"
        function = "{FUNCTION}"
        arguments = {{ effect = {effect} }}
        [figures.value]
        margin = 0.05
        primary = true
        """
    )


def write_book(folder: Path) -> Path:
    """Write a book with a single chapter, `first`."""
    write(folder, 0.3)
    book = folder / "investigations" / "book"
    book.mkdir()
    (folder / "investigations" / "simulated").rename(book / "first")
    return book


def test_an_investigation_is_run_judged_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, "simulated", "--pairs", "8")
    assert answer.exit_code == 0, answer.output
    assert "slower against plain, 6 pairs" in answer.stdout
    assert "material" in answer.stdout
    document = json.loads(told(tmp_path, monkeypatch, "simulated", "--quick", "--fresh", "--json").stdout)
    assert document["settled"]
    assert document["comparisons"][0]["pairs"] == 6
    # Neither was what the file asks for: each has a report, but beside its records.
    committed = tmp_path / "investigations" / "simulated" / "summary.json"
    assert not committed.exists()
    assert not (tmp_path / "reports").exists()
    assert len(list(tmp_path.glob("data/simulated/*/simulated.md"))) == 2
    assert told(tmp_path, monkeypatch, "simulated").exit_code == 0
    assert "**slower**" in (tmp_path / "reports" / "simulated.md").read_text()
    assert judge_session(read(committed).investigation, read(committed).done, 24).settled
    assert "Is it slower?" in told(tmp_path, monkeypatch, "--list").stdout


def test_the_chapters_of_a_book_are_run_and_one_that_lies_elsewhere_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = write_book(tmp_path)
    (book / "book.toml").write_text(BOOK + 'chapters = ["first"]\n')
    answer = told(tmp_path, monkeypatch, "book", "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["chapters"]["book/first"]["settled"]
    assert (book / "first" / "summary.json").exists()
    assert "(book/first.md)" in (tmp_path / "reports" / "book.md").read_text()
    assert "Why?" in told(tmp_path, monkeypatch, "--list").stdout
    (book / "book.toml").unlink()
    monkeypatch.chdir(book)
    assert CliRunner().invoke(investigate, ["first", "--quick"]).exit_code == 0


def test_of_a_book_a_first_impression_takes_as_many_pairs_as_there_is_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = write_book(tmp_path)
    (book / "second").mkdir()
    (book / "second" / "investigation.toml").write_text((book / "first" / "investigation.toml").read_text())
    (book / "book.toml").write_text(BOOK + 'chapters = ["second", "first"]\nquick = ["first"]\n')
    answer = told(tmp_path, monkeypatch, "book", "--quick")
    assert answer.exit_code == 0, answer.output
    page = tmp_path / "data" / "book" / "quick" / "book.md"
    *_, chapter, now, at_length, path = answer.stdout.splitlines()
    assert path == str(page)
    assert chapter == "Simulated, value against plain"
    assert now.split()[:2] == ["slower", "now"]
    assert now.rstrip().endswith("material")
    assert at_length.split() == ["at", "length", "not", "measured", "yet"]
    assert "(book/first.md)" in page.read_text()
    assert "24 pairs" in (page.parent / "book" / "first.md").read_text()
    assert "](book/second.md)" not in page.read_text()
    assert not (tmp_path / "reports").exists()


def test_a_first_impression_that_is_not_to_be_believed_ends_with_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = write_book(tmp_path)
    (book / "book.toml").write_text(BOOK + 'chapters = ["first"]\n')

    async def limited(name: str, arm: Arm, seed: int) -> Run:
        return replace(await call(name, arm, seed), limited=("a gate",) if seed % 3 == 0 else ())

    monkeypatch.setattr("evenkeel_lab.session.session.call", limited)
    answer = told(tmp_path, monkeypatch, "book", "--quick")
    assert answer.exit_code == RIG_INVALID
    *_, now, at_length, why, _ = answer.stdout.splitlines()
    assert now.rstrip().endswith("material (not to be believed)")
    assert at_length.split()[:2] == ["at", "length"]
    assert why.startswith("  invalid: gates: ")


def test_a_first_impression_of_a_book_ends_with_what_was_measured_at_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = write_book(tmp_path)
    (book / "book.toml").write_text(BOOK + 'chapters = ["first"]\n')
    assert told(tmp_path, monkeypatch, "book").exit_code == 0
    *_, now, at_length, _ = told(tmp_path, monkeypatch, "book", "--quick").stdout.splitlines()
    assert now.split()[-1] == at_length.split()[-1] == "material"


def test_no_pair_begins_that_would_not_end_in_time(tmp_path: Path) -> None:
    wanted = investigation(0.0, looks=(6, 24))
    hasty = wanted.model_copy(update={"session": wanted.session.model_copy(update={"seconds": 1e-6})})
    heard = Listening()
    judgement = asyncio.run(session(tmp_path, hasty, heard).conduct())
    # One is measured in any case, and in full.
    assert len(heard.heard) == 1
    assert not judgement.settled
    # What a clock has ended stays as it is.
    asyncio.run(session(tmp_path, hasty, heard).conduct())
    assert len(heard.heard) == 1
    assert not any(one.name == "no-look" for one in doubts(gather(Store(tmp_path)), judgement, None))


def test_a_new_investigation_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, "new", "mine")
    place = tmp_path / "investigations" / "mine"
    assert answer.stdout.splitlines() == [
        str(place / name) for name in ("investigation.toml", "README.md", "notebook.py")
    ]
    for name in ("mine", "No Name", "index", "new", "../outside"):
        again = told(tmp_path, monkeypatch, "new", name)
        assert isinstance(again.exception, WrongUse)
    assert not (tmp_path / "investigations" / "No Name").exists()
    # A question of somebody who writes [markup], and a file that is none: the others are listed all the same.
    (place / "investigation.toml").write_text(template("mine").replace("Does it", "[Does] it"))
    (tmp_path / "investigations" / "broken").mkdir()
    (tmp_path / "investigations" / "broken" / "investigation.toml").write_text("nonsense")
    listed = told(tmp_path, monkeypatch, "--list")
    assert listed.exit_code == 0
    assert "[Does] it make a difference?" in listed.stdout
    assert "cannot be read" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("simulatd",), "Did you mean simulated?"), (("simulated", "--litellm", "1.83"), "1.83")],
)
def test_wrong_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], error: str
) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, *arguments)
    assert isinstance(answer.exception, WrongUse)
    assert error in str(answer.exception)
