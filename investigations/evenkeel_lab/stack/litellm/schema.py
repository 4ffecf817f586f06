"""The SQL between two Prisma schemas, computed by Prisma's own schema engine from npm; no database is asked.

It completes the schema of a release whose newest migrations are not in the registry: the migrations that are there
end in the schema of their package, and the release's wheel carries the schema that it wants.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.stack.folders import create_once
from evenkeel_lab.stack.packages.npm import install_program, program_folder
from evenkeel_lab.stack.processes.process import Command, run

if TYPE_CHECKING:
    from evenkeel_lab.stack.packages.node import Node

SOURCE = Path(__file__).with_name("schema_engine")


async def write_difference(before: Path, after: Path, sql: Path, node: Node, log: Path) -> None:
    """Write the SQL that turns the schema in the file `before` into the one in `after`; a comment if they are equal."""
    folder = program_folder("schema-engine", SOURCE, node)
    async with create_once(folder) as empty:
        if empty is not None:
            hint = "Mend the way to the npm registry, or choose a release whose migrations are all on PyPI."
            await install_program(SOURCE, empty, node, log, what="Prisma's schema engine", hint=hint)
    argv = [node.bin / "node", folder / "difference.mjs", before, after, sql]
    await run(Command("the difference of two schemas", argv, env=dict(os.environ), log=log))
