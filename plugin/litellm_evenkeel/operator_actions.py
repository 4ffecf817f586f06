"""Actions of operators, and the listeners that record them, such as the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

# The operator waits for this.
TIMEOUT_SECONDS = 2.0


class OperatorAction(NamedTuple):
    """One action of an operator on an account. The fields are in the order of a store's columns."""

    time: float
    """Unix time."""
    by: str
    """The operator's key, by its name."""
    action: str
    """Such as `pause` or `release`."""
    account: str
    value: str = ""
    """The new priority or weight; empty for other actions."""
    seconds: float | None = None
    """Time until it ends by itself; `None` without an end."""
    reason: str = ""
    """As the operator wrote it."""


Listener = Callable[[OperatorAction], Awaitable[None]]
_listeners: list[Listener] = []


def subscribe(listener: Listener) -> Callable[[], None]:
    """Add a listener to all actions in this process. Return a function that removes it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


async def publish(action: OperatorAction) -> bool | None:
    """Send an action to all listeners. Return whether each has recorded it; `None` without any listener."""
    if not _listeners:
        return None
    is_recorded = True
    for listener in _listeners:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await listener(action)
        except Exception:  # noqa: BLE001 - the action has taken effect, recorded or not
            is_recorded = False
    return is_recorded
