"""The plugin's own metrics: how they are defined, bounded and exported."""

from __future__ import annotations
