"""`evenkeel compat`: its table, its document, its exit codes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import WRONG_USE
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


def test_a_release_that_has_all_of_it(cached: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    cached(VERSION)
    assert cli(["compat", VERSION]) == 0
    captured = capsys.readouterr()
    assert VERSION in captured.out
    assert "are there" in captured.out
    assert f"LiteLLM {VERSION}" in captured.err


def test_a_release_that_lacks_something(cached: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    cached(VERSION, "integrations/prometheus_metrics_endpoint.py")
    assert cli(["compat", "--json", VERSION]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    (version,) = document["versions"]
    assert version["version"] == VERSION
    (only,) = version["breaks"]
    assert only["name"] == "litellm.integrations.prometheus_metrics_endpoint.make_metrics_asgi_app"
    assert only["needed_by"] == ["metrics.mounting"]
    assert cli(["compat", VERSION]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "metrics.mounting" in shown
    assert "Answers scrapes" in shown


@pytest.mark.parametrize("version", ["latest", "1.82.7", "1.110"])
def test_what_is_no_release_to_look_at_is_wrong_use(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["compat", version]) == WRONG_USE
    assert version in capsys.readouterr().err
