"""`evenkeel compat`: its table, its document, its exit codes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from evenkeel_lab.cli import cli
from evenkeel_lab.compat import environments, running
from evenkeel_lab.compat.lookup import Break
from evenkeel_lab.compat.outcome import Check, Outcome, TestRun
from evenkeel_lab.compat.report import run_table
from evenkeel_lab.errors import WRONG_USE, ProcessFailed, RigFailure
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "1.106.2"


@pytest.fixture
def cached(own_cache: Path) -> Callable[[str, str], None]:
    """Put the LiteLLM beside the tests into the cache, as a release of any number, without one of its modules."""

    def put(version: str, without: str = "") -> None:
        spec = importlib.util.find_spec("litellm")
        assert spec is not None
        assert spec.origin is not None
        folder = cache_folder() / "wheels" / f"litellm-{version}" / "litellm"
        source, left_out = Path(spec.origin).parent, Path(without)
        for parent in (Path(), left_out.parent) if without else (Path(),):
            (folder / parent).mkdir(parents=True)
            for path in (source / parent).iterdir():
                name = path.relative_to(source)
                if name not in {left_out, left_out.parent} or not without:
                    (folder / name).symlink_to(path)
        (folder.parent / ".complete").touch()

    return put


def test_a_release_with_the_whole_contract_passes(
    cached: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    cached(VERSION)
    assert cli(["compat", VERSION]) == 0
    captured = capsys.readouterr()
    assert VERSION in captured.out
    assert "are there" in captured.out
    assert f"LiteLLM {VERSION}" in captured.err


def test_a_release_that_lacks_an_entry_fails(cached: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    cached(VERSION, "integrations/prometheus_metrics_endpoint.py")
    assert cli(["compat", "--json", VERSION]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    (version,) = document["versions"]
    assert version["version"] == VERSION
    (only,) = version["breaks"]
    assert only["name"] == "litellm.integrations.prometheus_metrics_endpoint.make_metrics_asgi_app"
    assert only["needed_by"] == ["metrics.endpoint"]
    assert cli(["compat", VERSION]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "metrics.endpoint" in shown
    assert "Answers scrapes" in shown


def test_a_passed_version_is_not_run_again(own_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = Outcome(
        version=VERSION,
        date="2026-11-25",
        python="3.11.7",
        entries=120,
        breaks=(),
        tests=TestRun(passed=2000),
        checks=(Check(name="it boots", ok=True),),
    )
    kept = own_cache / "matrix" / f"{VERSION}-{running._digest()}.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(held.model_dump_json())
    assert cli(["compat", "--run", "--json", VERSION]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {"ok": True, "versions": [held.model_dump(mode="json")]}
    assert cli(["compat", "--run", VERSION]) == 0
    assert "2000 tests, 1 checks" in capsys.readouterr().out


async def test_an_incomplete_outcome_is_run_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Outcome(
        version=VERSION, date="2026-11-25", python="3.11.7", entries=120, breaks=(), tests=TestRun(passed=1), checks=()
    )
    runs: list[str] = []

    async def run(version: str, *_: object) -> Outcome:
        runs.append(version)
        return held

    monkeypatch.setattr(running, "_run", run)
    kept = own_cache / "matrix" / f"{VERSION}-{running._digest()}.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(held.model_dump_json()[:20])
    for _ in range(2):
        assert await running.outcome(VERSION, own_cache, Silent()) == held
    assert runs == [VERSION]
    assert list(kept.parent.iterdir()) == [kept]


async def test_without_a_network_no_other_version_is_recommended(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(*_: object) -> None:
        raise ProcessFailed("uv", hint="", details="error sending request for url (https://somewhere/simple/litellm/)")

    monkeypatch.setattr(environments, "requirements", unreachable)
    with pytest.raises(RigFailure, match="PyPI cannot be reached"):
        await environments._install(VERSION, own_cache / "bin" / "python", own_cache / "uv.log")


def test_failures_of_a_run_are_shown() -> None:
    found = Break(version=VERSION, name="litellm.x", problem="has no y", needed_by=("admin",), why="so")
    outcome = Outcome(
        version=VERSION,
        date="2026-11-25",
        python="3.11.7",
        entries=120,
        breaks=(found,),
        tests=TestRun(passed=2000, failed=("a: test",)),
        checks=(Check(name="it boots", ok=False, details="ImportError"),),
    )
    console = Console(record=True, width=120)
    console.print(run_table([outcome]))
    shown = console.export_text()
    for words in ("litellm.x has no y.", "test a: test", "it boots: ImportError"):
        assert words in shown


def test_only_versions_that_were_run_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["compat", "--write", VERSION]) == WRONG_USE
    assert "--run" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["latest", "1.82.7", "1.110"])
def test_an_invalid_release_is_wrong_use(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["compat", version]) == WRONG_USE
    assert version in capsys.readouterr().err
