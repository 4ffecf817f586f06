"""Parameters of LiteLLM's functions that a change relies on. One that is renamed must not show with each request."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def require_parameters(function: Callable[..., Any], *names: str) -> None:
    """Raise an `ImportError` unless a function has these parameters."""
    known = inspect.signature(function).parameters
    if missing := [name for name in names if name not in known]:
        raise ImportError(f"{function.__qualname__}() has no parameter {', '.join(missing)}")
