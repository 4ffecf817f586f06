"""The rotation of a worker."""

from __future__ import annotations

import logging
import os
import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import addresses, watching
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.mishaps import Mishaps
from litellm_evenkeel.rotation.naming import doubts
from litellm_evenkeel.rotation.pins.opening import opened as keeping
from litellm_evenkeel.rotation.pins.remote import Remote
from litellm_evenkeel.rotation.router import Rotation_PROXY_, RotationWithHeader_PROXY_
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.shared import Shared, Sharing, opened
from litellm_evenkeel.rotation.steering import Steering
from litellm_evenkeel.rotation.sticky import Sticky
from litellm_evenkeel.rotation.sticky_terms import Backend
from litellm_evenkeel.rotation.watch import Watch
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.wiring.config import of_proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.terms import RotationTerms

LOG = logging.getLogger("litellm_evenkeel.rotation")
ACCOUNTS = f"{SECTION}.rotation.accounts"


def rotation() -> Rotation_PROXY_:
    """Make the rotation of this worker."""
    config = of_proxy()
    terms = settings(config.get(SECTION)).rotation
    deployments = config.get("model_list") or ()
    for deployment in deployments:
        # What an operator wrote there is refused at the start, not at the first request.
        Seat.of(deployment, terms.accounts)
    for doubt in doubts(terms.accounts, deployments, ACCOUNTS):
        LOG.warning("evenkeel: %s", doubt)
    metrics, clock = watching.metrics(), _clock()
    shared = _shared(terms, config, clock)
    sticky = Sticky(terms.sticky)
    errors = Mishaps("rotation", metrics.plugin_error)
    steering = Steering(
        terms,
        clock=clock,
        random=random.random,
        seat=_Seats(terms).seat,
        observer=metrics,
        sticky=sticky,
        remote=_remote(terms, config, clock, sticky),
        shared=shared,
        errors=errors.happened,
    )
    watch = Watch(steering, metrics.tally, clock=clock, deployments=watching.deployments)
    watching.begin(
        watch, metrics, errors.happened, is_shared=lambda: None if shared is None else shared.counts().is_connected
    )
    made = RotationWithHeader_PROXY_ if terms.account_header else Rotation_PROXY_
    begin = None if shared is None else lambda: shared.start(steering.pool)
    return made(terms, steering, errors, begin)


def _shared(terms: RotationTerms, config: Mapping[str, Any], clock: Callable[[], float]) -> Shared | None:
    """Return this worker's part in what workers share, if they do."""
    address = terms.shared.redis_url
    if address is None:
        return None
    where = "evenkeel.rotation.shared.redis_url"
    url = addresses.redis(config, os.environ, where) if address.is_of_proxy else address.value
    return opened(Sharing(url=url, prefix=terms.shared.prefix, workers=watching.workers(os.environ) or 1), clock)


def _remote(
    terms: RotationTerms, config: Mapping[str, Any], clock: Callable[[], float], sticky: Sticky
) -> Remote | None:
    """Return where this worker's pins are kept for others, if anywhere."""
    own = terms.sticky
    if own.url is None and own.backend is Backend.POSTGRES:
        own = replace(own, url=addresses.postgres(config, os.environ, "evenkeel.rotation.sticky.backend"))
    elif own.url is None and own.backend is Backend.REDIS:
        own = replace(own, url=addresses.redis(config, os.environ, "evenkeel.rotation.sticky.backend"))
    pins = keeping(own, clock, terms.shared.prefix)
    return None if pins is None else Remote(pins, own, lambda key, account: sticky.adopt(key, account, clock()), clock)


class _Seats:
    """Reads deployments that come at run time; what is wrong in one of those must not keep it from working."""

    def __init__(self, terms: RotationTerms) -> None:
        self._terms = terms

    def seat(self, deployment: Mapping[str, Any], requested: str) -> Seat:
        """Return a deployment's seat."""
        try:
            return Seat.of(deployment, self._terms.accounts, requested)
        except SettingsError as error:
            LOG.warning("evenkeel: %s It is used without what its model_info says.", error)
            named = {name: (deployment.get("model_info") or {}).get(name) for name in ("id", "account")}
            return Seat.of({**deployment, "model_info": named}, self._terms.accounts, requested)


def _clock() -> Callable[[], float]:
    """Return a clock that is the same in all processes, and never goes back."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()
