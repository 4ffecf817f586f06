"""The account pool, which owns all mutable state of the rotation."""

from __future__ import annotations
