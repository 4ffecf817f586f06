"""Arms that are functions of the project's own: a benchmark, a simulation."""

from __future__ import annotations

import asyncio
import importlib
import time
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.session.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.experiment import Arm


async def call(name: str, arm: Arm, seed: int) -> Run:
    """Call an arm's function once, and return what it has found."""
    function = load(arm.function)
    start_ns, began = time.time_ns(), time.monotonic()
    value = float(await asyncio.to_thread(function, seed, **arm.arguments))
    return Run(name, start_ns, time.monotonic() - began, 1, {"value": value})


def load(where: str) -> Callable[..., Any]:
    """Return the function that is named package.module:name."""
    module, _, name = where.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WrongUse(f"There is no function {where!r}: {error}.", cure="Write package.module:name.") from error
    return found
