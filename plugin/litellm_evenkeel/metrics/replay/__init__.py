"""Replay of the metric updates that LiteLLM's callback makes for an event, without running its code for each event."""

from __future__ import annotations
