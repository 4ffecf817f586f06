"""From where on something counts, for all checks."""

from __future__ import annotations

# Of a core, or of anything else that serves one after another. Before a server that is busy for a share r of the time,
# 1 / (1 - r) times its own time passes in the mean: nearly seven times at 85 %, which is also the load's own gate ...
SATURATED = 0.85
# ... and 2.5 times at 60 %.
BUSY = 0.6
# Of the latency. What is most of it, mending anything else cannot outweigh; a quarter is felt; a tenth is the least
# for which a saturated process can be said to hold requests up at all.
MOST, FELT, NOTICED = 0.5, 0.25, 0.1
# Requests inside at once: with fewer there is nobody to wait for.
CROWD = 2.0
# Requests, or looks, without which a mean is an accident.
FEW = 20
