from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, for tests that look at what is put there."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EVENKEEL_CACHE", str(folder))
    return folder
