"""Where the target is: an address, perhaps with a path before the endpoints' own."""

from __future__ import annotations

from urllib.parse import urlsplit

from evenkeel_load.errors import LoadConfigError

HINT = "Such as http://127.0.0.1:4000."


def address(text: str) -> str:
    """Return an address as it is used: without a slash at its end. What it may not hold is refused."""
    try:
        found = urlsplit(text.strip())
        port = found.port
        (found.hostname or "").encode("idna")
    except ValueError as error:
        raise LoadConfigError(f"{text!r} is no address: {error}.", hint=HINT) from error
    if found.username is not None or found.password is not None:
        raise LoadConfigError("The address holds a password.", hint="Give the key with --api-key: that is kept secret.")
    if found.scheme not in {"http", "https"} or not found.hostname or port == 0 or not text.isascii():
        raise LoadConfigError(f"{text!r} is no address.", hint=HINT)
    if found.query or found.fragment:
        raise LoadConfigError(f"{text!r} ends with more than a path.", hint=HINT)
    return f"{found.scheme}://{found.netloc}{found.path.rstrip('/')}"
