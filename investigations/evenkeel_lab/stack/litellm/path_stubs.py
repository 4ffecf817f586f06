"""Stubs of programs that a proxy would otherwise run from PATH.

`prisma`: even if schema updates are disabled, LiteLLM runs Prisma's command line at every boot to compare the
schema. That costs seconds and cannot succeed without Prisma's schema engine. `openssl`: Prisma's Python client reads
its version to select a native engine, and fails if it is missing, as in many slim containers.
"""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING

from evenkeel_lab.stack.folders import cache_folder, create_once

if TYPE_CHECKING:
    from pathlib import Path

PRISMA = "#!/bin/sh\necho 'the stack applies migrations itself' >&2\nexit 1\n"
OPENSSL = "#!/bin/sh\necho 'OpenSSL 3.0.0'\n"


async def stub_folder() -> Path:
    """Return a folder with the stubs, to precede a proxy's PATH."""
    stubs = {"prisma": PRISMA} | ({} if shutil.which("openssl") else {"openssl": OPENSSL})
    digest = hashlib.sha256("".join(sorted(stubs.values())).encode()).hexdigest()[:12]
    folder = cache_folder() / f"decoys-{digest}"
    async with create_once(folder) as empty:
        for name, script in stubs.items() if empty is not None else ():
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
    return folder
