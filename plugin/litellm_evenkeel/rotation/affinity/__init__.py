"""Sessions stay with their account."""

from __future__ import annotations
