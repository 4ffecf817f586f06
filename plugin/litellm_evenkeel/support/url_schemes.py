"""Schemes of the addresses of servers."""

from __future__ import annotations

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
