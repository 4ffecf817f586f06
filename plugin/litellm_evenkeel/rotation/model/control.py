"""Controls: an operator's instructions for one account. They hold in all workers until they end or are withdrawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

MAX_NAME_CHARACTERS = 512
MAX_REASON_CHARACTERS = 200


class ControlKind(StrEnum):
    """Kind of a control: what it changes. An account has at most one of each kind."""

    TRAFFIC = "traffic"
    PRIORITY = "priority"
    WEIGHT = "weight"


class Traffic(StrEnum):
    """Traffic that an account still takes."""

    PAUSED = "paused"
    """None."""
    DRAINING = "draining"
    """Only requests of sessions that are pinned to it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A control of an account's traffic, as picks need it."""

    until: float
    """By the pool's clock; `inf` without an end."""
    is_draining: bool


class Control(BaseModel):
    """One instruction. It is stored and sent to other workers in this form."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    account: str = Field(min_length=1, max_length=MAX_NAME_CHARACTERS)
    kind: ControlKind = Field(strict=False)
    traffic: Traffic | None = Field(default=None, strict=False)
    number: FiniteFloat | None = Field(default=None, ge=0)
    """The priority, or the weight."""
    until: FiniteFloat | None = None
    """By the pool's clock; `None` without an end."""
    by: str = Field(default="", max_length=MAX_NAME_CHARACTERS)
    """The operator's key, by its name."""
    reason: str = Field(default="", max_length=MAX_REASON_CHARACTERS)

    @model_validator(mode="after")
    def _has_its_value(self) -> Self:
        is_traffic = self.kind is ControlKind.TRAFFIC
        if is_traffic != (self.traffic is not None) or is_traffic == (self.number is not None):
            raise ValueError("a control of traffic needs `traffic`, any other needs `number`")
        if self.kind is ControlKind.WEIGHT and not self.number:
            raise ValueError("a weight is above 0")
        if self.kind is ControlKind.PRIORITY and self.number != int(self.number or 0):
            raise ValueError("a priority is a whole number")
        return self

    @property
    def value(self) -> str | float:
        """The traffic, the priority or the weight."""
        return str(self.traffic) if self.traffic is not None else self.number or 0.0

    def ends_at(self) -> float:
        """Return when it ends; `inf` without an end."""
        return math.inf if self.until is None else self.until
