"""Arms that are functions of this project: a benchmark or a simulation."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import math
import time
import traceback
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import RigFailure, ScheduleMissed, WrongUse
from evenkeel_lab.investigation_spec.investigation import FUNCTION_METRIC
from evenkeel_lab.runner.measurement.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.investigation_spec import Arm
    from evenkeel_lab.runner.measurement.run import Lanes


@dataclass(frozen=True)
class Measured:
    """Result of a function that measures several metrics."""

    figures: Mapping[str, float]
    """Values by the name of the metric. A metric without a value, such as NaN, is left out."""
    requests: int = 1
    lanes: Lanes = field(default_factory=dict)


async def call(name: str, arm: Arm, seed: int) -> Run:
    """Call an arm's function once and return its result as a run, which is rig-limited if the function says so."""
    function = load(arm.function)
    start_ns, began = time.time_ns(), time.monotonic()
    try:
        if inspect.iscoroutinefunction(function):
            result = await function(seed, **arm.arguments)
        else:
            result = await asyncio.to_thread(function, seed, **arm.arguments)
    except ScheduleMissed as missed:
        return Run(name, start_ns, time.monotonic() - began, 1, {}, limited=(missed.what,))
    except RigFailure:
        raise
    except Exception as error:  # it is not ours
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{arm.function}, the function of {name}, failed with seed {seed}: {error!r}."
        raise WrongUse(what, hint=f"See {where.filename}, line {where.lineno}, and the arm's `arguments`.") from error
    seconds = time.monotonic() - began
    if isinstance(result, Measured):
        figures = {metric: value for metric, value in result.figures.items() if math.isfinite(value)}
        return Run(name, start_ns, seconds, result.requests, figures, lanes=result.lanes)
    if isinstance(result, bool) or not isinstance(result, Real) or not math.isfinite(result):
        what = f"{arm.function}, the function of {name}, returned {result!r} with seed {seed}."
        raise WrongUse(what, hint="A function gets a seed and its `arguments`, and returns a number, or `Measured`.")
    return Run(name, start_ns, seconds, 1, {FUNCTION_METRIC: float(result)})


def load(where: str) -> Callable[..., Any]:
    """Return the function with the name `package.module:name`."""
    module, _, name = where.partition(":")
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever its module does when it is imported
        raise WrongUse(f"There is no function {where!r}: {error!r}.", hint="Write package.module:name.") from error
    if not callable(function):
        raise WrongUse(f"{where!r} is no function.", hint="Write package.module:name.")
    return function
