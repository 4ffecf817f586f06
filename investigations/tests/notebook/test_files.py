"""Notebooks are executed by real kernels, but small ones: what the lab imports takes seconds, in each of them."""

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
    found = tmp_path / "case"
    found.mkdir()
    (found / "summary.json").write_text("{}")
    return found


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


def test_the_same_notebook_shows_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Neither the user's settings nor his kernels have a say.
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    (folder / "notebook.py").write_text(PLAIN.format(python=sys.executable))
    first = executed(folder)
    assert executed(folder) == first
    told = json.loads(first)
    assert set(told["metadata"]) == {"kernelspec", "language_info"}
    assert told["metadata"]["language_info"] == {"name": "python"}
    text, printing, naming = told["cells"]
    assert (text["cell_type"], text["id"], printing["id"]) == ("markdown", "cell-1", "cell-2")
    assert printing["metadata"] == {"tags": ["hide"]}
    (printed,) = printing["outputs"]
    assert printed["text"] == ["True module://matplotlib_inline.backend_inline\n"]
    assert naming["outputs"][0]["data"]["text/plain"] == ["{'a', 'b', 'c', 'd'}"]
    assert sorted(path.name for path in folder.iterdir()) == ["notebook.py", "summary.json"]


def test_a_failing_cell_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CellFailed) as failed:
        run(tmp_path, "fine = 1", "x = {}\nx['p51']")
    assert failed.value.what == f"{tmp_path / 'notebook.py'}, cell 2 (`x = {{}}`): KeyError: 'p51'."
    assert failed.value.details == ""


def test_a_cell_that_does_not_end_is_ended(tmp_path: Path) -> None:
    source = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    with pytest.raises(CellFailed, match="has not ended within 1 s"):
        run(tmp_path, source, seconds=1)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_kernel_that_dies_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match="died or was silent in cell 1"):
        run(tmp_path, "import os\nos._exit(3)")


def test_ctrl_c_ends_the_kernel_too(tmp_path: Path) -> None:
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


def test_a_temporary_folder_may_have_a_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    run(tmp_path, "open('done', 'w').close()")
    assert (tmp_path / "done").exists()
    assert list(long.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"output_type": "stream", "name": "stderr", "text": "x.py:1: Warning: no\n  y\n"}, "warns: .* no"),
        ({"output_type": "stream", "name": "stdout", "text": "<Axes object at 0x7f0a1b2c3d4e>"}, "an address"),
        ({"output_type": "display_data", "data": {"text/html": '<table id="T_0a1b2">'}}, "a random name"),
        ({"output_type": "display_data", "data": {"text/plain": f"'{Path.home()}/x'"}}, "elsewhere"),
    ],
)
def test_what_would_differ_next_time_is_refused(tmp_path: Path, output: dict[str, Any], told: str) -> None:
    with pytest.raises(CellFailed, match=told):
        clean(showing({"metadata": {}} | output), tmp_path / "notebook.py")


def test_widgets_and_ids_do_not_stay(tmp_path: Path) -> None:
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "a slider"}
    notebook = showing({"output_type": "display_data", "data": data, "metadata": {}})
    notebook.metadata["widgets"] = {"state": "x"}
    notebook.cells[0]["metadata"] = {"execution": {"iopub.status.busy": "now"}}
    clean(notebook, tmp_path / "notebook.py")
    assert notebook.cells[0]["outputs"][0]["data"] == {"text/plain": "a slider"}
    assert (notebook.cells[0]["id"], notebook.cells[0]["metadata"]) == ("cell-1", {})
    assert "widgets" not in notebook.metadata


def test_without_a_summary_nothing_is_executed(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="has no summary"):
        write(tmp_path)


def test_without_a_notebook_there_is_none_to_execute(folder: Path) -> None:
    with pytest.raises(WrongUse, match=r"notebook\.py cannot be read"):
        write(folder)


def pictured(level: int, color: str = "white") -> str:
    """Return a notebook with a picture that is compressed in one way or another."""
    file = io.BytesIO()
    Image.new("RGB", (64, 64), color).save(file, "png", compress_level=level)
    return json.dumps({"cells": [{"outputs": [{"data": {"image/png": b64encode(file.getvalue()).decode()}}]}]})


@pytest.fixture
def executions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Say what an execution shows."""
    (folder / "notebook.py").write_text(cells("1"))

    def show(text: str) -> None:
        monkeypatch.setattr(files, "executed", lambda _: text)

    return show


def test_what_has_changed_is_drift_until_it_is_written(folder: Path, executions: Callable[[str], None]) -> None:
    executions(pictured(9))
    assert drift(folder) == ["case/notebook.ipynb"]
    path = write(folder)
    assert (path.read_text(), drift(folder)) == (pictured(9), [])
    executions(pictured(9, "black"))
    assert drift(folder) == ["case/notebook.ipynb"]
    path.write_text("no notebook")
    assert drift(folder) == ["case/notebook.ipynb"]


def test_the_same_picture_may_be_compressed_in_another_way(folder: Path, executions: Callable[[str], None]) -> None:
    executions(pictured(9))
    path = write(folder)
    executions(pictured(1))
    assert pictured(1) != pictured(9)
    assert drift(folder) == []
    assert write(folder).read_text() == pictured(9)
    assert path.read_text() == pictured(9)


def test_an_executed_notebook_that_belongs_to_nothing_is_drift(folder: Path) -> None:
    assert drift(folder) == []
    (folder / "notebook.ipynb").write_text("{}")
    assert drift(folder) == ["case/notebook.ipynb"]


def test_what_is_too_large_is_not_committed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "notebook.py").write_text(cells(f"# {'x' * files.LARGEST}"))
    monkeypatch.setattr(files, "execute", lambda *_: None)
    with pytest.raises(WrongUse, match="too much to be committed"):
        write(folder)
