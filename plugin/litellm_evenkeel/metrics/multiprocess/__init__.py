"""Metrics of several workers, kept in files."""

from __future__ import annotations
