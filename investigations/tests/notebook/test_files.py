"""Execution of notebooks by real kernels. The cells are small: importing the lab takes seconds in each kernel."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jupytext
import psutil
import pytest
from PIL import Image

from evenkeel_lab.errors import CellFailed, NotMeasured, ProcessFailed, WrongUse
from evenkeel_lab.notebook import files
from evenkeel_lab.notebook.clean import clean
from evenkeel_lab.notebook.files import drift, executed, write
from evenkeel_lab.notebook.kernel import execute

if TYPE_CHECKING:
    from collections.abc import Callable

GONE_SECONDS = 5.0
PLAIN = """\
# %% [markdown]
# # A few names

# %% tags=["hide"]
import os, sys
print(sys.executable == {python!r}, os.environ["MPLBACKEND"])

# %%
{{name for name in ("a", "b", "c", "d")}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    created = tmp_path / "case"
    created.mkdir()
    (created / "summary.json").write_text("{}")
    return created


def cells(*sources: str) -> str:
    return "\n".join(f"# %%\n{source}\n" for source in sources)


def run(tmp_path: Path, *sources: str, seconds: int = 20) -> None:
    execute(jupytext.reads(cells(*sources), fmt="py:percent"), tmp_path / "notebook.py", seconds)


def showing(*outputs: dict[str, Any]) -> Any:
    notebook = jupytext.reads(cells("1"), fmt="py:percent")
    notebook.cells[0]["outputs"] = list(outputs)
    return notebook


def gone(pid: int) -> bool:
    deadline = time.monotonic() + GONE_SECONDS
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_executing_a_notebook_twice_gives_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Neither settings nor kernels of the user may change the result.
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    (folder / "notebook.py").write_text(PLAIN.format(python=sys.executable))
    first = executed(folder)
    assert executed(folder) == first
    document = json.loads(first)
    assert set(document["metadata"]) == {"kernelspec", "language_info"}
    assert document["metadata"]["language_info"] == {"name": "python"}
    text, printing, naming = document["cells"]
    assert (text["cell_type"], text["id"], printing["id"]) == ("markdown", "cell-1", "cell-2")
    assert printing["metadata"] == {"tags": ["hide"]}
    (printed,) = printing["outputs"]
    assert printed["text"] == ["True module://matplotlib_inline.backend_inline\n"]
    assert naming["outputs"][0]["data"]["text/plain"] == ["{'a', 'b', 'c', 'd'}"]
    assert sorted(path.name for path in folder.iterdir()) == ["notebook.py", "summary.json"]


def test_the_error_of_a_failing_cell_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CellFailed) as failed:
        run(tmp_path, "fine = 1", "x = {}\nx['p51']")
    assert failed.value.what == f"{tmp_path / 'notebook.py'}, cell 2 (`x = {{}}`): KeyError: 'p51'."
    assert failed.value.details == ""


def test_a_cell_that_exceeds_its_timeout_is_stopped(tmp_path: Path) -> None:
    source = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    with pytest.raises(CellFailed, match="did not end within 1 s"):
        run(tmp_path, source, seconds=1)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_kernel_that_exits_is_reported_with_its_cell(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match="ended or did not answer in cell 1"):
        run(tmp_path, "import os\nos._exit(3)")


def test_ctrl_c_stops_the_kernel(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def interrupt() -> None:
        while not pid.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    write_pid = "import os, pathlib, time\npathlib.Path('new').write_text(str(os.getpid()))\nos.rename('new', 'pid')"
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, write_pid, "time.sleep(60)")
    assert gone(int(pid.read_text()))


def test_a_notebook_runs_with_a_temporary_folder_of_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    run(tmp_path, "open('done', 'w').close()")
    assert (tmp_path / "done").exists()
    assert list(long.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ({"output_type": "stream", "name": "stderr", "text": "x.py:1: Warning: no\n  y\n"}, "warns: .* no"),
        ({"output_type": "stream", "name": "stdout", "text": "<Axes object at 0x7f0a1b2c3d4e>"}, "an address"),
        ({"output_type": "display_data", "data": {"text/html": '<table id="T_0a1b2">'}}, "a random name"),
        ({"output_type": "display_data", "data": {"text/plain": f"'{Path.home()}/x'"}}, "on other machines"),
    ],
)
def test_output_that_differs_between_executions_is_refused(tmp_path: Path, output: dict[str, Any], error: str) -> None:
    with pytest.raises(CellFailed, match=error):
        clean(showing({"metadata": {}} | output), tmp_path / "notebook.py")


def test_widgets_and_random_cell_ids_are_removed(tmp_path: Path) -> None:
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "a slider"}
    notebook = showing({"output_type": "display_data", "data": data, "metadata": {}})
    notebook.metadata["widgets"] = {"state": "x"}
    notebook.cells[0]["metadata"] = {"execution": {"iopub.status.busy": "now"}}
    clean(notebook, tmp_path / "notebook.py")
    assert notebook.cells[0]["outputs"][0]["data"] == {"text/plain": "a slider"}
    assert (notebook.cells[0]["id"], notebook.cells[0]["metadata"]) == ("cell-1", {})
    assert "widgets" not in notebook.metadata


def test_a_notebook_without_a_summary_is_not_executed(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="has no summary"):
        write(tmp_path)


def test_a_missing_notebook_is_an_error(folder: Path) -> None:
    with pytest.raises(WrongUse, match=r"notebook\.py cannot be read"):
        write(folder)


def pictured(level: int, color: str = "white") -> str:
    """Return a notebook with a picture, compressed at `level`."""
    file = io.BytesIO()
    Image.new("RGB", (64, 64), color).save(file, "png", compress_level=level)
    return json.dumps({"cells": [{"outputs": [{"data": {"image/png": b64encode(file.getvalue()).decode()}}]}]})


@pytest.fixture
def executions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that sets what an execution results in."""
    (folder / "notebook.py").write_text(cells("1"))

    def show(text: str) -> None:
        monkeypatch.setattr(files, "executed", lambda _: text)

    return show


def test_a_changed_notebook_is_drift_until_it_is_written(folder: Path, executions: Callable[[str], None]) -> None:
    executions(pictured(9))
    assert drift(folder) == ["case/notebook.ipynb"]
    path = write(folder)
    assert (path.read_text(), drift(folder)) == (pictured(9), [])
    executions(pictured(9, "black"))
    assert drift(folder) == ["case/notebook.ipynb"]
    path.write_text("no notebook")
    assert drift(folder) == ["case/notebook.ipynb"]


def test_the_same_picture_with_another_compression_is_no_drift(folder: Path, executions: Callable[[str], None]) -> None:
    executions(pictured(9))
    path = write(folder)
    executions(pictured(1))
    assert pictured(1) != pictured(9)
    assert drift(folder) == []
    assert write(folder).read_text() == pictured(9)
    assert path.read_text() == pictured(9)


def test_an_executed_notebook_without_a_source_is_drift(folder: Path) -> None:
    assert drift(folder) == []
    (folder / "notebook.ipynb").write_text("{}")
    assert drift(folder) == ["case/notebook.ipynb"]


def test_a_notebook_that_is_too_large_to_commit_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "notebook.py").write_text(cells(f"# {'x' * files.MAX_BYTES}"))
    monkeypatch.setattr(files, "execute", lambda *_: None)
    with pytest.raises(WrongUse, match="too much to commit"):
        write(folder)
