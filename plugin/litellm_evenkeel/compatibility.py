"""Which LiteLLM versions this project touches, and how: the one place where versions are compared."""

from __future__ import annotations

import re
from enum import Enum

from litellm_evenkeel.errors import UnsupportedLiteLLM

COMPROMISED = frozenset({(1, 82, 7), (1, 82, 8)})
"""Releases that were published by an attacker, however they are spelled, and whatever is built on them.

Nothing here ever installs or runs them.
"""

OLDEST_SUPPORTED = "1.100.0"
"""The first version with the hook that tells of every failed attempt (`async_post_call_failure_deployment_hook`)."""

IMPORTS_CALLBACKS_SINCE = "1.94.0"
"""The first version that finds a callback in an installed package; before it, a shim file sits beside the config."""


FREEZES_GARBAGE_COLLECTOR_SINCE = "1.109.0"
"""The first version that freezes what it has made (`gc.freeze`) at the end of its start."""


class Verdict(Enum):
    """What a LiteLLM version is to the plugin."""

    SUPPORTED = "supported"
    TOO_OLD = "too old"
    COMPROMISED = "compromised"


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


def judge(version: str) -> Verdict:
    """Say whether the plugin works with a LiteLLM version."""
    if release(version) in COMPROMISED:
        return Verdict.COMPROMISED
    return Verdict.SUPPORTED if release(version) >= release(OLDEST_SUPPORTED) else Verdict.TOO_OLD


def require(version: str) -> None:
    """Raise unless the plugin works with this LiteLLM version."""
    verdict = judge(version)
    if verdict is Verdict.COMPROMISED:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is a compromised release. Remove it, rotate every credential it saw, "
            f"and install another version."
        )
    if verdict is Verdict.TOO_OLD:
        raise UnsupportedLiteLLM(
            f"LiteLLM {version} is too old for litellm-evenkeel. Install LiteLLM {OLDEST_SUPPORTED} or newer."
        )
