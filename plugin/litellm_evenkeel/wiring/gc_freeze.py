"""Composition of the `gc_freeze` callback, which does all its work at a worker's start."""

from __future__ import annotations

import gc
import logging
import time
from importlib import metadata

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel import compatibility, proxy_process
from litellm_evenkeel.gc_freeze import GcFreezer
from litellm_evenkeel.settings import SECTION, settings

LOG = logging.getLogger("litellm_evenkeel.gc_freeze")


def gc_freeze() -> CustomLogger:
    """Freeze the objects of this worker's start and those that survive the next full collections."""
    own = settings(proxy_process.config().get(SECTION)).gc_freeze
    version = metadata.version("litellm")
    is_start_frozen = compatibility.freezes_garbage_collector(version)
    started_at = time.perf_counter()
    GcFreezer(own, is_start_frozen=is_start_frozen).start()
    seconds = time.perf_counter() - started_at
    if not is_start_frozen:
        LOG.info(
            "evenkeel: %d objects frozen after a full collection of %.2f s. Objects that survive the next %d full"
            " collections will be frozen too.",
            gc.get_freeze_count(),
            seconds,
            own.freezes,
        )
    elif own.freezes:
        LOG.info(
            "evenkeel: LiteLLM %s freezes the objects of its start. Objects that survive the next %d full collections"
            " will be frozen too.",
            version,
            own.freezes,
        )
    else:
        LOG.warning(
            "evenkeel: LiteLLM %s freezes the objects of its start, and %s.gc_freeze.freezes is 0. So this callback has"
            " no effect. Remove it, or raise the setting.",
            version,
            SECTION,
        )
    return CustomLogger()
