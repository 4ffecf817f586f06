"""Whether an address is one that the client of Redis can read."""

from __future__ import annotations

from redis.asyncio.connection import parse_url

from litellm_evenkeel.errors import SettingsError


def require_address(url: str, where: str) -> None:
    """Raise SettingsError for one that cannot be read; nothing of it is shown, for it may hold a password."""
    try:
        parse_url(url)
    except ValueError:
        # Not from that error: it shows the part of the address that it could not read.
        raise SettingsError(
            f"{where}: this address of a Redis cannot be read. In a password, write # as %23, / as %2F and @ as %40."
        ) from None
