"""Metric families and their series."""

from __future__ import annotations
