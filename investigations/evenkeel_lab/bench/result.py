"""Result of a benchmark: named metrics, each with its bound and a reference."""

from __future__ import annotations

import operator
import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

COMPARISONS = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Metric:
    """A metric of a benchmark."""

    name: str
    value: float
    unit: str
    bound: str | None = None
    """A bound such as `<= 100`; `None` without one."""
    reference: str | None = None
    """A note with values that were measured beside it."""

    @property
    def ok(self) -> bool:
        """Whether the value is within the bound."""
        if self.bound is None:
            return True
        sign, limit = self.bound.split()
        return bool(COMPARISONS[sign](self.value, float(limit)))


@dataclass(frozen=True)
class Bench:
    """A benchmark."""

    name: str
    about: str
    run: Callable[..., Awaitable[list[Metric]]]
    """Called with `Steps`; a benchmark with parts also gets the chosen `parts` and the `version` of LiteLLM."""
    takes_hours: bool = False
    """Whether it runs only when it is named."""
    parts: tuple[str, ...] = ()
    """Parts that may be run alone, of a benchmark with real proxies."""


def environment() -> dict[str, Any]:
    """Return the environment of the measurement."""
    return {
        "evenkeel": metadata.version("litellm-evenkeel"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def document(name: str, metrics: list[Metric]) -> dict[str, Any]:
    """Return a benchmark's result as a JSON document."""
    return {
        "bench": name,
        "ok": all(metric.ok for metric in metrics),
        "environment": environment(),
        "metrics": [asdict(metric) | {"ok": metric.ok} for metric in metrics],
    }
