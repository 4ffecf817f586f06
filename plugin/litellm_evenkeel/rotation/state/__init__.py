"""State of accounts and deployments: limits, cooldowns, latency, requests in flight."""

from __future__ import annotations
