"""Thresholds that several checks share."""

from __future__ import annotations

# Utilisation of a core, or of another server with a queue. At a utilisation r, a request takes 1 / (1 - r) times its
# service time in the mean: nearly 7 times at 85 %, which is also the limit for the load generator ...
SATURATED = 0.85
# ... and 2.5 times at 60 %.
BUSY = 0.6
# Shares of the latency: the majority, which no other improvement can outweigh; a noticeable share; and the smallest
# share at which a saturated process counts as a limit.
MOST, FELT, NOTICED = 0.5, 0.25, 0.1
# Concurrent requests: with fewer, no request waits for another one.
CROWD = 2.0
# Requests or samples: with fewer, a mean is chance.
FEW = 20
