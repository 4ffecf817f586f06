"""Detection of API keys written where a name belongs, and the name that is shown instead."""

from __future__ import annotations

import hashlib
import re

# Prefixes of LiteLLM's keys, and of those of providers.
KEY_PATTERN = re.compile(r"\s*(?:bearer\s|sk-|gsk_|xai-|AIza|AKIA)", re.IGNORECASE)
HASH_DIGITS = 12


def looks_like_key(text: str) -> bool:
    """Return whether `text` begins like an API key."""
    return KEY_PATTERN.match(text) is not None


def shown_name(text: str) -> str:
    """Return `text` as it may be shown; an irreversible hash of it if it looks like a key."""
    if not looks_like_key(text):
        return text
    return f"acct-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:HASH_DIGITS]}"
