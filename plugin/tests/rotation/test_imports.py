"""Imports of the rotation."""

from __future__ import annotations

import subprocess
import sys


def test_the_core_does_not_import_litellm() -> None:
    code = "import sys, litellm_evenkeel.rotation.account_router; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
