"""Description of one running service of a stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.stack.processes.process import Child


@dataclass(frozen=True)
class ServiceInfo:
    """Name, version, address and process of one service: a row of the table that `evenkeel up` prints."""

    name: str
    version: str
    address: str
    pid: int | None = None
    """`None` for a server of the user's own."""
    started: float | None = None
    """Start time, in seconds of the Unix epoch."""
    ready_after: float | None = None
    """Seconds from the start to the first answer."""
    log: Path | None = None
    child: Child | None = field(default=None, repr=False, compare=False)
    """The process that the stack started."""

    @classmethod
    def of_process(cls, child: Child, name: str, version: str, address: str, ready_after: float) -> Self:
        """Return the description of a process that the stack started."""
        return cls(name, version, address, child.pid, child.started, ready_after, child.command.log, child)
