"""The plugin in real proxies of every version of the matrix. Slow: each boots for half a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.compat.end_to_end import run_checks
from evenkeel_lab.compat.environments import installed
from evenkeel_lab.compat.outcome import committed
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from pathlib import Path

OF_MATRIX = [one.version for one in committed().outcomes]
OLDER = sorted({DEFAULT_VERSION, *OF_MATRIX[:-1]} - {OF_MATRIX[-1]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "version", [OF_MATRIX[-1], *(pytest.param(version, marks=pytest.mark.thorough) for version in OLDER)]
)
async def test_a_proxy_with_all_callbacks_serves_despite_a_revoked_account(version: str, tmp_path: Path) -> None:
    made = await installed(version, tmp_path / "environment", tmp_path / "uv.log")
    checks = await run_checks(made, tmp_path / "proxy", tmp_path)
    assert [one for one in checks if not one.ok] == []
