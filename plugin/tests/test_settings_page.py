"""The page of settings is made from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from litellm_evenkeel.settings import tables

pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
CURE = 'python -c "from litellm_evenkeel.settings import tables; print(*tables(), sep=chr(10) * 2)"'


@pytest.mark.parametrize("table", tables(), ids=["all", "account"])
def test_every_setting_stands_on_its_page(table: str) -> None:
    assert table in PAGE.read_text(), f"docs/settings.md is out of date. Put there what this prints: {CURE}"


def test_nothing_stands_there_that_is_no_setting() -> None:
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith("| `")]
    assert len(rows) == sum(table.count("\n| `") for table in tables())
