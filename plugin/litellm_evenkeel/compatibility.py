"""Supported LiteLLM versions. All comparisons of LiteLLM versions are made in this module."""

from __future__ import annotations

import logging
import re
from enum import Enum
from functools import cache
from typing import NamedTuple

from litellm_evenkeel.errors import UnsupportedLiteLLM

LOG = logging.getLogger("litellm_evenkeel")

COMPROMISED = frozenset({(1, 82, 7), (1, 82, 8)})
"""Releases that an attacker published, in any spelling, including builds and pre-releases of them.

This project never installs or runs them.
"""

OLDEST_SUPPORTED = "1.100.0"
"""The first version with a hook for every failed attempt (`async_post_call_failure_deployment_hook`)."""

NEWEST_TESTED = "1.110.2"
"""The newest version that passed all tests of the plugin (`make matrix`). Newer ones are accepted with a warning."""


class Broken(NamedTuple):
    """A range of versions that are known not to work."""

    since: str
    """The first version that does not work."""
    until: str
    """The first version that works again."""
    reason: str
    """Cause, as a clause for an error text, such as "its router cannot be read"."""


BROKEN: tuple[Broken, ...] = ()
"""Broken versions within the supported range, which the plugin refuses. There are none now."""

FREEZES_GARBAGE_COLLECTOR_SINCE = "1.109.0"
"""The first version that calls `gc.freeze` at the end of its own start."""


class Verdict(Enum):
    """Compatibility of a LiteLLM version with the plugin."""

    SUPPORTED = "supported"
    TOO_OLD = "too old"
    COMPROMISED = "compromised"
    BROKEN = "broken"


def release(version: str) -> tuple[int, ...]:
    """Return the release numbers of a version for comparisons, without pre-release and build parts.

    Installers treat `1.082.7` and `1.82.7.0` as 1.82.7, so leading and trailing zeros are ignored.
    """
    match = re.match(r"v?(?:0+!)?(\d+(?:\.\d+)*)", version.strip().lower())
    if not match:
        raise ValueError(f"{version!r} is not a version number")
    numbers = [int(number) for number in match.group(1).split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def freezes_garbage_collector(version: str) -> bool:
    """Return whether a LiteLLM version calls `gc.freeze` at the end of its own start."""
    return release(version) >= release(FREEZES_GARBAGE_COLLECTOR_SINCE)


def judge(version: str, broken_ranges: tuple[Broken, ...] = BROKEN) -> Verdict:
    """Return whether the plugin works with a LiteLLM version."""
    if release(version) in COMPROMISED:
        return Verdict.COMPROMISED
    if release(version) < release(OLDEST_SUPPORTED):
        return Verdict.TOO_OLD
    return Verdict.SUPPORTED if breakage(version, broken_ranges) is None else Verdict.BROKEN


def breakage(version: str, broken_ranges: tuple[Broken, ...] = BROKEN) -> Broken | None:
    """Return the range of broken versions that contains a version, or `None`."""
    number = release(version)
    return next((broken for broken in broken_ranges if release(broken.since) <= number < release(broken.until)), None)


def require(version: str, broken_ranges: tuple[Broken, ...] = BROKEN) -> None:
    """Raise UnsupportedLiteLLM unless the plugin works with a version. Warn once if it is newer than tested."""
    verdict, broken = judge(version, broken_ranges), breakage(version, broken_ranges)
    if verdict is Verdict.COMPROMISED:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is a compromised release. Hint: remove it, rotate every credential it had access to, "
            f"and install another version."
        )
    if verdict is Verdict.TOO_OLD:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is too old for litellm-evenkeel. Hint: install LiteLLM {OLDEST_SUPPORTED} or newer."
        )
    if broken is not None:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} does not work with litellm-evenkeel: {broken.reason}. Hint: install LiteLLM "
            f"{broken.until} or newer, or a version before {broken.since}."
        )
    if release(version) > release(NEWEST_TESTED):
        _warn(version)


@cache
def _warn(version: str) -> None:
    """Log a warning, once for each process."""
    LOG.warning(
        "evenkeel: LiteLLM %s is newer than %s, the newest version that litellm-evenkeel was tested with. Parts of the "
        "plugin may not work with it. Check for a newer litellm-evenkeel.",
        version,
        NEWEST_TESTED,
    )
