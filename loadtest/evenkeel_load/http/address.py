"""The target's address, which may have a path before those of the endpoints."""

from __future__ import annotations

from urllib.parse import urlsplit

from evenkeel_load.errors import LoadConfigError

HINT = "An example is http://127.0.0.1:4000."


def address(text: str) -> str:
    """Return the address without a trailing slash. Raise if it is not valid."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise LoadConfigError(f"{text!r} is no valid address: {error}.", hint=HINT) from error
    if parts.username is not None or parts.password is not None:
        raise LoadConfigError("The address has a password.", hint="Give the key with --api-key, which keeps it secret.")
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not text.isascii():
        raise LoadConfigError(f"{text!r} is no valid address.", hint=HINT)
    if parts.query or parts.fragment:
        raise LoadConfigError(f"{text!r} has a query or a fragment.", hint=HINT)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
