from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_patches_nothing() -> None:
    code = "import sys, evenkeel_load; sys.exit(bool({'locust', 'gevent'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
