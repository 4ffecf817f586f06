"""The reference of the Python interfaces is made from their docstrings."""

from __future__ import annotations

import subprocess
import sys

import pytest
from documented_examples import ROOT

pytestmark = pytest.mark.docs


def test_the_page_is_up_to_date() -> None:
    # In a process of its own: importing Locust changes the process.
    command = [sys.executable, ROOT / "docs" / "site" / "python_reference.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "python.md").read_text(encoding="utf-8") == made
