"""Selection of a deployment from a candidate set."""

from __future__ import annotations
