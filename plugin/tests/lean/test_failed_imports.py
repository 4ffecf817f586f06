"""Imports that LiteLLM tries with every request, where OpenTelemetry is not installed and where it is."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.lean import failed_imports
from litellm_evenkeel.lean.failed_imports import let_imports_fail_at_once

if TYPE_CHECKING:
    from pathlib import Path

LOGGER = "lean_logger"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Put a logger that needs a package on the path, and return a list with an item for each time that it is run."""
    runs: list[None] = []
    (tmp_path / f"{LOGGER}.py").write_text("import lean_runs\nlean_runs.runs.append(None)\nimport lean_telemetry.sdk\n")
    module: Any = ModuleType("lean_runs")
    module.runs = runs
    monkeypatch.setitem(sys.modules, "lean_runs", module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(failed_imports, "NEEDED", {LOGGER: "lean_telemetry"})
    # So that the mark is removed afterwards.
    monkeypatch.setitem(sys.modules, LOGGER, None)  # type: ignore[arg-type]
    del sys.modules[LOGGER]
    return runs


def import_logger() -> None:
    with pytest.raises(ModuleNotFoundError):
        __import__(LOGGER)


def test_without_the_change_each_import_runs_the_module(runs: list[None]) -> None:
    import_logger()
    import_logger()
    assert len(runs) == 2


@pytest.mark.parametrize("installed", [False, True])
def test_an_import_that_failed_is_not_tried_again(
    runs: list[None], monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    if installed:
        # As the API of OpenTelemetry without its SDK, which other packages bring with them.
        package = ModuleType("lean_telemetry")
        package.__path__ = []
        monkeypatch.setitem(sys.modules, "lean_telemetry", package)
    let_imports_fail_at_once()
    import_logger()
    import_logger()
    assert len(runs) == 1


def test_a_module_that_can_be_imported_stays(runs: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lean_telemetry", "lean_telemetry.sdk"):
        module = ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
    let_imports_fail_at_once()
    assert __import__(LOGGER).__name__ == LOGGER
    assert len(runs) == 1


def test_a_litellm_without_the_module_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_imports, "NEEDED", {"lean_nowhere": "lean_telemetry"})
    with pytest.raises(ModuleNotFoundError, match="lean_nowhere"):
        let_imports_fail_at_once()
    assert "lean_nowhere" not in sys.modules


def test_an_error_of_the_module_is_one_that_the_callback_logs(
    runs: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lean_runs", ModuleType("lean_runs"))
    with pytest.raises(ImportError, match=f"{LOGGER} cannot be imported"):
        let_imports_fail_at_once()
    assert not runs
