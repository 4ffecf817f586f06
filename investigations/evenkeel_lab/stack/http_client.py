"""Requests to our own servers."""

from __future__ import annotations

from typing import Any

import httpx


def client(*, seconds: float, **options: Any) -> httpx.AsyncClient:
    """Return a client that is blind to the user's proxy variables: everything it asks is on loopback."""
    return httpx.AsyncClient(timeout=seconds, trust_env=False, **options)
