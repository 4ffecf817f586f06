"""The file of traces: the same when it is read again, refused when it is of another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.tracing.traces import read, write

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.tracing.traces import Traces


def test_what_is_read_is_what_was_written(traces: Traces, tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    write(traces, path)
    assert read(path) == traces
    first = path.read_bytes()
    write(read(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "cannot be read"),
        ('{"schema": 0}', "is of schema 0"),
        ("[]", "is of schema None"),
        ('{"schema": 1, "arms": {}}', "is damaged"),
        ('{"schema": 1, "arms": {"stock": [[]]}}', "is damaged"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "traces.json"
    path.write_text(text)
    with pytest.raises(WrongUse, match=error):
        read(path)
