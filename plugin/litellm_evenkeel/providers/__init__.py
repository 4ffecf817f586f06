"""What providers say: failures, limits and usage, read from responses and errors."""

from __future__ import annotations
