"""Arrival schedules: when requests are due, whatever becomes of those before them."""

from __future__ import annotations

from evenkeel_load.arrivals.constant import Constant
from evenkeel_load.arrivals.gamma import Gamma
from evenkeel_load.arrivals.poisson import Poisson
from evenkeel_load.arrivals.ramp import Ramp
from evenkeel_load.arrivals.schedule import Arrivals, Extent, shard
from evenkeel_load.arrivals.trace import Trace

__all__ = ["CLOSED", "OPEN", "Arrivals", "Constant", "Extent", "Gamma", "Poisson", "Ramp", "Trace", "shard"]

CLOSED = "closed"
"""No schedule: each user waits for its answer."""
OPEN = ("constant", "poisson", "gamma", "ramp", "trace")
"""All kinds of schedule, by name."""
