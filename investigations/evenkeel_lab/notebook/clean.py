"""Removal of everything in an executed notebook that would differ in another execution of the same cells."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import CellFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT = ("tags",)
WIDGETS = "application/vnd.jupyter."
VOLATILE = (
    (r"\b0x[0-9a-f]{6,}", "an address in memory", "End the cell with a value that has a readable text, or with none."),
    (r"\bid=\"T_[0-9a-f]{5}\b", "a styled table with a random name", "Name the table: frame.style.set_uuid('runs')."),
)


def clean(notebook: NotebookNode, path: Path) -> None:
    """Remove what differs between executions. Raise `CellFailed` if a cell itself shows such a thing."""
    notebook.metadata.clear()
    notebook.metadata.update(METADATA)
    for number, cell in enumerate(notebook.cells, 1):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {name: cell.metadata[name] for name in KEPT if name in cell.metadata}
        for output in cell.get("outputs", []):
            for name in [name for name in output.get("data", {}) if name.startswith(WIDGETS)]:
                del output["data"][name]
            _require_reproducible(output, f"{path}, cell {number}", path)


def _require_reproducible(output: NotebookNode, where: str, path: Path) -> None:
    if output.get("name") == "stderr":
        first = output["text"].strip().partition("\n")[0]
        raise CellFailed(f"{where} warns: {first}.", hint="Fix the cause of the warning.")
    local_paths = {str(local) for local in _local_paths(path) if local != Path(local.anchor)}
    for text in _texts(output):
        for pattern, what, hint in VOLATILE:
            if re.search(pattern, text):
                raise CellFailed(f"{where} shows {what}, which differs in each execution.", hint=hint)
        for local_path in local_paths:
            if re.search(rf"(?<![\w.]){re.escape(local_path)}(?![\w.-])", text):
                raise CellFailed(
                    f"{where} shows {local_path}, which differs on other machines.",
                    hint="Show only the name of the file.",
                )


def _texts(output: NotebookNode) -> Iterator[str]:
    if "text" in output:
        yield output["text"]
    yield from (value for name, value in output.get("data", {}).items() if name.startswith("text/"))


def _local_paths(path: Path) -> Iterator[Path]:
    yield path.parent.resolve()
    yield from (Path.home(), Path(tempfile.gettempdir()), Path(sys.prefix), Path(sys.base_prefix))
