"""The callback that keeps a worker's garbage collections short: its work is done at the start."""

from __future__ import annotations

import gc
import logging
import time
from importlib import metadata

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel import compatibility
from litellm_evenkeel.gc_freeze import GcFreezer
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.wiring.proxy_process import proxy_config

LOG = logging.getLogger("litellm_evenkeel.gc_freeze")


def gc_freeze() -> CustomLogger:
    """Freeze what this worker has made so far, and what survives the next full collections."""
    terms = settings(proxy_config().get(SECTION)).gc_freeze
    version = metadata.version("litellm")
    is_start_frozen = compatibility.freezes_garbage_collector(version)
    began = time.perf_counter()
    GcFreezer(terms, is_start_frozen=is_start_frozen).start()
    seconds = time.perf_counter() - began
    if not is_start_frozen:
        LOG.info(
            "evenkeel: %d objects frozen after a full collection of %.2f s; so will be what survives the next %d.",
            gc.get_freeze_count(),
            seconds,
            terms.freezes,
        )
    elif terms.freezes:
        LOG.info(
            "evenkeel: LiteLLM %s freezes the objects of its start; what survives the next %d full collections will be"
            " frozen too.",
            version,
            terms.freezes,
        )
    else:
        LOG.warning(
            "evenkeel: LiteLLM %s freezes the objects of its start, and %s.gc_freeze.freezes is 0: this callback has"
            " nothing to add. Remove it, or raise the setting.",
            version,
            SECTION,
        )
    return CustomLogger()
