"""SQL between two Prisma schemas, computed by Prisma's schema engine from npm without a database.

It completes the schema of a release whose newest migrations are not in the registry. The available migrations end in
the schema of their package, and the release's wheel contains its own schema.
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
    """Write the SQL that turns the schema `before` into `after` to the file `sql`; a comment if they are equal."""
    folder = program_folder("schema-engine", SOURCE, node)
    async with create_once(folder) as empty:
        if empty is not None:
            hint = "Check the connection to the npm registry, or use a release whose migrations are all on PyPI."
            await install_program(SOURCE, empty, node, log, what="Prisma's schema engine", hint=hint)
    argv = [node.bin / "node", folder / "difference.mjs", before, after, sql]
    await run(Command("the difference of two schemas", argv, env=dict(os.environ), log=log))
