"""Which LiteLLM versions this project touches, and how: the one place where versions are compared."""

from __future__ import annotations

import logging
import re
from enum import Enum
from functools import cache
from typing import NamedTuple

from litellm_evenkeel.errors import UnsupportedLiteLLM

LOG = logging.getLogger("litellm_evenkeel")

COMPROMISED = frozenset({(1, 82, 7), (1, 82, 8)})
"""Releases that were published by an attacker, however they are spelled, and whatever is built on them.

Nothing here ever installs or runs them.
"""

OLDEST_SUPPORTED = "1.100.0"
"""The first version with the hook that tells of every failed attempt (`async_post_call_failure_deployment_hook`)."""

NEWEST_TESTED = "1.110.2"
"""The newest version that all of the plugin has run with (`make matrix`); newer ones are let through with a warning."""


class Broken(NamedTuple):
    """Versions that are known not to work."""

    since: str
    until: str
    """The first that works again."""
    why: str


BROKEN: tuple[Broken, ...] = ()
"""Versions in the supported range that are known not to work, and are refused. There are none now."""

IMPORTS_CALLBACKS_SINCE = "1.94.0"
"""The first version that finds a callback in an installed package; before it, a shim file sits beside the config."""


FREEZES_GARBAGE_COLLECTOR_SINCE = "1.109.0"
"""The first version that freezes what it has made (`gc.freeze`) at the end of its start."""


class Verdict(Enum):
    """What a LiteLLM version is to the plugin."""

    SUPPORTED = "supported"
    TOO_OLD = "too old"
    COMPROMISED = "compromised"
    BROKEN = "broken"


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, so that versions can be ordered; pre-release and build marks are left out.

    Installers take `1.082.7` and `1.82.7.0` for 1.82.7, so leading and trailing zeros do not count.
    """
    match = re.match(r"v?(?:0+!)?(\d+(?:\.\d+)*)", version.strip().lower())
    if not match:
        raise ValueError(f"{version!r} is not a version number")
    numbers = [int(number) for number in match.group(1).split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def freezes_garbage_collector(version: str) -> bool:
    """Return whether a LiteLLM version freezes what it has made at its start."""
    return release(version) >= release(FREEZES_GARBAGE_COLLECTOR_SINCE)


def judge(version: str, known: tuple[Broken, ...] = BROKEN) -> Verdict:
    """Return whether the plugin works with a LiteLLM version."""
    if release(version) in COMPROMISED:
        return Verdict.COMPROMISED
    if release(version) < release(OLDEST_SUPPORTED):
        return Verdict.TOO_OLD
    return Verdict.SUPPORTED if breakage(version, known) is None else Verdict.BROKEN


def breakage(version: str, known: tuple[Broken, ...] = BROKEN) -> Broken | None:
    """Return why a version is known not to work, or None."""
    number = release(version)
    return next((one for one in known if release(one.since) <= number < release(one.until)), None)


def require(version: str, known: tuple[Broken, ...] = BROKEN) -> None:
    """Raise unless the plugin works with this LiteLLM version; warn once if it is newer than any that was tested."""
    verdict, broken = judge(version, known), breakage(version, known)
    if verdict is Verdict.COMPROMISED:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is a compromised release. Remove it, rotate every credential it saw, "
            f"and install another version."
        )
    if verdict is Verdict.TOO_OLD:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is too old for litellm-evenkeel. Install LiteLLM {OLDEST_SUPPORTED} or newer."
        )
    if broken is not None:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} does not work with litellm-evenkeel: {broken.why}. Install LiteLLM {broken.until} or "
            f"newer, or one before {broken.since}."
        )
    if release(version) > release(NEWEST_TESTED):
        _warn(version)


@cache
def _warn(version: str) -> None:
    """Warn once in each process."""
    LOG.warning(
        "evenkeel: LiteLLM %s is newer than the newest that litellm-evenkeel was tested with, %s. It may lack what the "
        "plugin needs. See whether there is a newer litellm-evenkeel.",
        version,
        NEWEST_TESTED,
    )
