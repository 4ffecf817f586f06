"""Savings of a request, which are computed once for all its daily rows.

For each request, LiteLLM adds to the daily spend of the user, the team, the end user and each tag. For each of these
rows it computes again what the request has saved (by caches, compression and routing), from the same prices.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from litellm.proxy.db import db_spend_update_writer

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# LiteLLM writes the rows of a request in one task, which has a context of its own.
_last: ContextVar[tuple[Arguments, Any] | None] = ContextVar("evenkeel_lean_savings", default=None)


def compute_savings_once() -> None:
    """Make the daily rows of a request share its savings."""
    db_spend_update_writer.compute_savings_spend = shared(db_spend_update_writer.compute_savings_spend)


def shared(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `original` only if the arguments differ from those of the task's last call."""

    def compute(*positional: Any, **named: Any) -> Any:
        arguments, last = (positional, named), _last.get()
        if last is not None and last[0] == arguments:
            return last[1]
        savings = original(*positional, **named)
        _last.set((arguments, savings))
        return savings

    return compute
