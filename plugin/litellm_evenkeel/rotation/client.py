"""Identification of the client that a request comes from."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The length of LiteLLM's hash of a client's key. A value of another length is a key that is not hashed yet.
LITELLM_HASH_DIGITS = 64
OWN_HASH_DIGITS = 16


def client_of(request: Mapping[str, Any]) -> str:
    """Return the hash of the client's key; empty without a key, so that all such clients count as a single one.

    Some kinds of authentication leave the key itself in the request. It is hashed, and never kept.
    """
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            key = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
            if isinstance(key, str):
                if len(key) == LITELLM_HASH_DIGITS:
                    return key
                return sha256(key.encode(errors="surrogatepass")).hexdigest()[:OWN_HASH_DIGITS]
    return ""
