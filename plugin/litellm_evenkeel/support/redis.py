"""Validation of Redis URLs."""

from __future__ import annotations

from redis.asyncio.connection import parse_url

from litellm_evenkeel.errors import SettingsError


def require_address(url: str, path: str) -> None:
    """Raise `SettingsError` if `url` cannot be parsed. The URL is not shown, as it may hold a password."""
    try:
        parse_url(url)
    except ValueError:
        # Not chained to the original error, whose text contains the part of the URL that could not be parsed.
        raise SettingsError(
            f"{path}: expected the address of a Redis, got one that cannot be parsed. "
            "Hint: in a password, write # as %23, / as %2F and @ as %40."
        ) from None
