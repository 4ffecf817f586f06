"""A fault, and how an operator sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel_lab.chaos.rig import Rig

Strike = Callable[["Rig"], AbstractAsyncContextManager[None]]
"""A context manager that causes the fault at its beginning, and ends it at its end.

It raises `FaultNotCaused` if the fault had no effect: the cell would prove nothing.
"""


@dataclass(frozen=True)
class Fault:
    """One fault, and how an operator sees it."""

    name: str
    about: str
    strike: Strike
    metric: str = ""
    """Metric of the plugin that has to change; empty if the plugin is not concerned."""
    log: str = ""
    """Words of a line that the plugin has to log; empty if it need not."""
    first_failure_after: float = 0.0
    """Seconds until a request can fail of it: one that hangs does so at its timeout."""
    loses_records: bool = False
    """Whether it ends a worker, whose waiting records in the journal are lost."""
    needs_disk: bool = False
    """Whether it needs a disk that can be filled."""
    is_quick: bool = False
    """Whether it is part of the selection for continuous integration."""
