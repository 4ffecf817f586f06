"""Metrics of several workers, which share them through files."""

from __future__ import annotations
