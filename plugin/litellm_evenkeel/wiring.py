"""How the parts of the plugin are put together in a running proxy."""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import watching
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.router import Errors, Rotation_PROXY_, RotationWithHeader_PROXY_
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.steering import Steering
from litellm_evenkeel.rotation.watch import Watch
from litellm_evenkeel.settings import SECTION, settings

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.terms import RotationTerms

LOG = logging.getLogger("litellm_evenkeel.rotation")


def rotation() -> Rotation_PROXY_:
    """Make the rotation of this worker."""
    config = _proxy_config()
    terms = settings(config.get(SECTION)).rotation
    for deployment in config.get("model_list") or ():
        # What an operator wrote there is refused at the start, not at the first request.
        Seat.of(deployment, terms.accounts)
    seats = _Seats(terms)
    metrics, clock = watching.metrics(), _clock()
    steering = Steering(terms, clock=clock, random=random.random, seat=seats.seat, observer=metrics)
    errors = Errors(metrics.plugin_error)
    watch = Watch(steering, metrics.tally, clock=clock, deployments=watching.deployments)
    watching.begin(watch, metrics, errors.happened)
    made = RotationWithHeader_PROXY_ if terms.account_header else Rotation_PROXY_
    return made(terms, steering, errors)


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


def _proxy_config() -> Mapping[str, Any]:
    server = sys.modules.get("litellm.proxy.proxy_server")
    config = getattr(getattr(server, "proxy_config", None), "config", None)
    return config if isinstance(config, Mapping) else {}
