"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import litellm_evenkeel


def test_every_public_name_exists() -> None:
    assert all(hasattr(litellm_evenkeel, name) for name in litellm_evenkeel.__all__)


def test_the_core_does_not_import_litellm() -> None:
    code = "import sys, litellm_evenkeel; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
