"""Texts that look like a key, and how they are called where a name is shown."""

from __future__ import annotations

import hashlib
import re

# LiteLLM's keys, and those of providers.
KEY = re.compile(r"\s*(?:bearer\s|sk-|gsk_|xai-|AIza|AKIA)", re.IGNORECASE)
DIGITS = 12


def looks_like_key(text: str) -> bool:
    """Say whether somebody may have written a key where a name belongs."""
    return KEY.match(text) is not None


def shown_name(text: str) -> str:
    """Return a name as it may be shown: of what looks like a key, what cannot be turned back into it."""
    if not looks_like_key(text):
        return text
    return f"acct-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:DIGITS]}"
