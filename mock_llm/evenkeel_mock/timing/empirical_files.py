"""Files of measured values: read once, and kept, so that every worker at any time reads the same."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkeel_mock.timing.distribution_syntax import read_file

if TYPE_CHECKING:
    from pathlib import Path


class EmpiricalFiles:
    """A folder that keeps what was read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> str:
        """Return a file's text as it was when it was first asked for."""
        kept = self._folder / f"empirical-{blake2b(path.encode(), digest_size=16).hexdigest()}"
        if kept.exists():
            return kept.read_text(encoding="utf-8")
        text = read_file(path)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(kept)
        return text
