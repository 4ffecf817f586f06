"""The callback that keeps a worker's garbage collections short: its work is done at the start."""

from __future__ import annotations

import gc
import logging
import time

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel.collector import Freezer
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.wiring.config import of_proxy

LOG = logging.getLogger("litellm_evenkeel.collector")


def collector() -> CustomLogger:
    """Freeze what this worker has made so far, and what survives the next full collections."""
    terms = settings(of_proxy().get(SECTION)).collector
    began = time.perf_counter()
    Freezer(terms).begin()
    LOG.info(
        "evenkeel: %d objects frozen after a full collection of %.2f s; so will be what survives the next %d.",
        gc.get_freeze_count(),
        time.perf_counter() - began,
        terms.freezes,
    )
    return CustomLogger()
