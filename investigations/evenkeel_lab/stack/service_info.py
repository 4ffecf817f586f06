"""What every part of a stack can say about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.stack.processes.process import Child


@dataclass(frozen=True)
class Part:
    """One row of the table that `evenkeel up` prints. A part without a pid is the user's own server."""

    name: str
    version: str
    address: str
    pid: int | None = None
    started: float | None = None
    """When it was started, in seconds of the Unix epoch."""
    ready_after: float | None = None
    """How many seconds later it answered."""
    log: Path | None = None

    @classmethod
    def of(cls, child: Child, name: str, version: str, address: str, ready_after: float) -> Self:
        """Describe a process of ours."""
        return cls(name, version, address, child.pid, child.started, ready_after, child.command.log)
