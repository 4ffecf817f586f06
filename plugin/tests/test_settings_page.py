"""The page of settings, and the JSON schema in the wheel, are made from the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import litellm_evenkeel
from litellm_evenkeel.settings import schema, tables

pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
SCHEMA = Path(litellm_evenkeel.__file__).with_name("settings.schema.json")


@pytest.mark.parametrize("title", tables())
def test_every_setting_is_on_the_page(title: str) -> None:
    assert f"## {title}\n\n{tables()[title]}\n" in PAGE.read_text(), "Hint: copy what `evenkeel settings` prints."


def test_nothing_else_is_on_the_page() -> None:
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith("| `")]
    assert len(rows) == sum(table.count("\n| `") for table in tables().values())


def test_the_schema_in_the_wheel_is_up_to_date() -> None:
    hint = f"Hint: evenkeel settings --schema > {SCHEMA.name}"
    assert json.loads(SCHEMA.read_text()) == schema(), hint
