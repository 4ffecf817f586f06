"""Numbers on the command line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import Context, Parameter


class NumberRange(click.FloatRange):
    """A number within a range. Click's own range lets `nan` pass, and `inf` if it has no end."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number, or fail with a sentence."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number
