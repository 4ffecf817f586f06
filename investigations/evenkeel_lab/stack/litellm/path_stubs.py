"""Programs that a proxy looks for on PATH and that a stack does not want it to find, or cannot count on.

`prisma`: even when told to leave the schema alone, LiteLLM has Prisma's command line compare it at every boot, which
costs seconds and cannot succeed without Prisma's schema engine. `openssl`: Prisma's Python client asks it for its
version to choose a native engine, and dies where there is none, as in many slim containers.
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
    """Return a folder to put in front of a proxy's PATH."""
    wanted = {"prisma": PRISMA} | ({} if shutil.which("openssl") else {"openssl": OPENSSL})
    digest = hashlib.sha256("".join(sorted(wanted.values())).encode()).hexdigest()[:12]
    folder = cache_folder() / f"decoys-{digest}"
    async with create_once(folder) as empty:
        for name, script in wanted.items() if empty is not None else ():
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
    return folder
