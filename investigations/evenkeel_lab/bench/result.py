"""What a benchmark says: named figures, each with its bound and with what was measured beside it."""

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
    """One figure."""

    name: str
    value: float
    unit: str
    bound: str | None = None
    """Such as `<= 100`; None if it is only told."""
    reference: str | None = None
    """What was measured beside it."""

    @property
    def ok(self) -> bool:
        """Whether the bound is kept."""
        if self.bound is None:
            return True
        sign, limit = self.bound.split()
        return bool(COMPARISONS[sign](self.value, float(limit)))


@dataclass(frozen=True)
class Bench:
    """One benchmark."""

    name: str
    about: str
    run: Callable[..., Awaitable[list[Metric]]]
    """Called with `Steps`; of one that has parts, with the chosen `parts` and the `version` of LiteLLM as well."""
    parts: tuple[str, ...] = ()
    """What may be run alone, of one that drives real proxies."""


def environment() -> dict[str, Any]:
    """Say where it was measured."""
    return {
        "evenkeel": metadata.version("litellm-evenkeel"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def document(name: str, metrics: list[Metric]) -> dict[str, Any]:
    """Return a benchmark's result for a program."""
    return {
        "bench": name,
        "ok": all(metric.ok for metric in metrics),
        "environment": environment(),
        "metrics": [asdict(metric) | {"ok": metric.ok} for metric in metrics],
    }
