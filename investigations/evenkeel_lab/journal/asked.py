"""What is asked of rows: by what they are counted together, and which of them failed."""

from __future__ import annotations

GROUPS = ("account", "model", "deployment", "key", "status", "error", "reason")
FIRST_FAILURE = 400
"""The lowest status of a request that failed."""
