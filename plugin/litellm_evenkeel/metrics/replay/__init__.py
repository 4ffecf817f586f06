"""Learns which metric updates LiteLLM makes for an event, and repeats them without running its code."""

from __future__ import annotations
