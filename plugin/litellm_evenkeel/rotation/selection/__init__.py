"""How a deployment is selected from a candidate set."""

from __future__ import annotations
