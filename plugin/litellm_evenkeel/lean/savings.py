"""Savings and status of a request, which are computed once for all its daily rows.

For each request, LiteLLM adds to the daily spend of the user, the team, the end user and each tag. For each of these
rows it computes again what the request has saved (by caches, compression and routing), from the same prices, and parses
the request's metadata again to see whether it succeeded.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from litellm.proxy import utils
from litellm.proxy.db import db_spend_update_writer

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# LiteLLM writes the rows of a request in one task, which has a context of its own.
_last_savings: ContextVar[tuple[Arguments, Any] | None] = ContextVar("evenkeel_lean_savings", default=None)
_last_status: ContextVar[tuple[str, str] | None] = ContextVar("evenkeel_lean_status", default=None)


def compute_savings_once() -> None:
    """Make the daily rows of a request share its savings and its status."""
    savings = shared(db_spend_update_writer.compute_savings_spend)
    status = status_of_metadata(utils.PrismaClient.get_request_status)
    db_spend_update_writer.compute_savings_spend, utils.PrismaClient.get_request_status = savings, status


def shared(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `original` only if the arguments differ from those of the task's last call."""

    def compute(*positional: Any, **named: Any) -> Any:
        arguments, last = (positional, named), _last_savings.get()
        if last is not None and last[0] == arguments:
            return last[1]
        savings = original(*positional, **named)
        _last_savings.set((arguments, savings))
        return savings

    return compute


def status_of_metadata(original: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """Return a method that calls `original` only if the metadata differs from that of the task's last call."""

    @wraps(original)
    def get_request_status(self: Any, payload: Any) -> str:
        metadata, last = payload.get("metadata") if isinstance(payload, dict) else None, _last_status.get()
        if not isinstance(metadata, str):
            return original(self, payload)
        if last is not None and last[0] == metadata:
            return last[1]
        status = original(self, payload)
        _last_status.set((metadata, status))
        return status

    return get_request_status
