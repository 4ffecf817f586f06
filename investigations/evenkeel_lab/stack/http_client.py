"""HTTP client for servers on loopback."""

from __future__ import annotations

from typing import Any

import httpx


def client(*, seconds: float, **options: Any) -> httpx.AsyncClient:
    """Return a client that ignores the user's proxy variables, because all its servers are on loopback."""
    return httpx.AsyncClient(timeout=seconds, trust_env=False, **options)
