"""Comparisons of a request's path with the patterns of routes, which are remembered.

LiteLLM compares the path of each request with the patterns of all routes that a key may be used for. For each
comparison, it makes a regular expression of the pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from litellm.proxy.auth.route_checks import RouteChecks

if TYPE_CHECKING:
    from collections.abc import Callable

    Matches = Callable[[str, str], bool]

# Paths that contain an id are different for each request: only the newest comparisons are kept, and no long paths.
MOST_REMEMBERED, LONGEST_PATH = 4096, 256


def remember_route_matches() -> None:
    """Make this process remember whether a path matches a pattern."""
    original: Matches = RouteChecks._route_matches_pattern  # noqa: SLF001 - nothing else compares them
    remembered = lru_cache(MOST_REMEMBERED)(original)

    def matches(route: Any, pattern: Any) -> bool:
        if not isinstance(route, str) or len(route) > LONGEST_PATH:
            return original(route, pattern)
        return remembered(route, pattern)

    RouteChecks._route_matches_pattern = staticmethod(matches)  # noqa: SLF001
