"""Which client a request comes from."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# LiteLLM hashes a client's key to this many hexadecimal digits.
HASH_DIGITS = 64
CLIENT_DIGITS = 16


def client_of(request: Mapping[str, Any]) -> str:
    """Return the client of a request, by the hash of its key; empty without a key: such clients count as one.

    Some kinds of authentication leave the key itself in the request. It is hashed, and never kept.
    """
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            key = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
            if isinstance(key, str):
                if len(key) == HASH_DIGITS:
                    return key
                return sha256(key.encode(errors="surrogatepass")).hexdigest()[:CLIENT_DIGITS]
    return ""
