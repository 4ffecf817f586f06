"""The public names of the rotation, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

from litellm_evenkeel import rotation


def test_every_public_name_exists() -> None:
    assert all(hasattr(rotation, name) for name in rotation.__all__)


def test_the_core_does_not_import_litellm() -> None:
    code = "import sys, litellm_evenkeel.rotation; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
