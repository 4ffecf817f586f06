"""The public names of budgets, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

from litellm_evenkeel import budgets


def test_every_public_name_exists() -> None:
    assert all(hasattr(budgets, name) for name in budgets.__all__)


def test_neither_litellm_nor_a_driver_is_imported_before_it_is_needed() -> None:
    code = "import sys, litellm_evenkeel.budgets; sys.exit(bool({'litellm', 'asyncpg', 'redis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
