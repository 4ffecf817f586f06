"""Addresses of the user's own servers, checked before use and printed without passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence


def address_of(url: str, variable: str, schemes: Sequence[str], *, default_port: int) -> str:
    """Return host, port and path of `url`, without credentials. Raise `WrongUse` if `url` is not an address."""
    hint = f"Write {schemes[0]}://USER:PASSWORD@HOST:PORT/NAME, with / ? # @ in the password as %2F %3F %23 %40."
    try:
        address = urlsplit(url)
        port = address.port or default_port
    except ValueError:
        raise WrongUse(f"{variable}: expected an address.", hint=hint) from None
    if address.scheme not in schemes or not (address.hostname or "host=" in address.query):
        raise WrongUse(f"{variable}: expected an address that begins with {schemes[0]}://.", hint=hint)
    return f"{address.hostname or 'a socket'}:{port}{address.path}"
