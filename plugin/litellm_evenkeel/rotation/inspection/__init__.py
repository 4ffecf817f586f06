"""Read-only views of the rotation: status, explanation, metrics."""

from __future__ import annotations
