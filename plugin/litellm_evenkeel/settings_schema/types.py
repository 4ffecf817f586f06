"""What a number or a text of the settings may be. Types of fields only: how they are read is in `values`.

A class of ours may also know itself how operators write it: it then has `of(told, where)`, which returns it or raises
SettingsError. This module imports nothing else of ours, so that whatever has settings may use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Self, TypeAlias

from litellm_evenkeel.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what a number lies."""

    least: float = -math.inf
    most: float = math.inf
    or_least: bool = True
    """Whether it may be `least` itself."""
    is_time: bool = False
    """Whether it counts seconds, and may be written as 10s, 5m or 7d."""

    def hold(self, number: float) -> bool:
        """Say whether a number may stand there."""
        return (number >= self.least if self.or_least else number > self.least) and number <= self.most

    @property
    def said(self) -> str:
        """Tell it to an operator."""
        if self.is_time:
            return "a duration, such as 10s, 5m or 7d" + ("; 0 for none" if self.or_least else "")
        if math.isfinite(self.most):
            return f"a number from {self.least:g} to {self.most:g}"
        if math.isfinite(self.least):
            return f"a number of {self.least:g} or more" if self.or_least else f"a number above {self.least:g}"
        return "a number"


Seconds: TypeAlias = Annotated[float, Bounds(0, is_time=True)]
Period: TypeAlias = Annotated[float, Bounds(0, or_least=False, is_time=True)]
Positive: TypeAlias = Annotated[float, Bounds(0, or_least=False)]
Factor: TypeAlias = Annotated[float, Bounds(1)]
Share: TypeAlias = Annotated[float, Bounds(0, 1)]
Count: TypeAlias = Annotated[int, Bounds(0)]


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that is shown to nobody: not in a repr, not in an error, not in a log."""

    value: str

    @classmethod
    def of(cls, told: object, where: str) -> Self:
        """Read it."""
        if isinstance(told, str):
            return cls(told)
        raise SettingsError(f"{where}: this is a text. Put it in quotes.")

    def __repr__(self) -> str:
        return "<secret>"
