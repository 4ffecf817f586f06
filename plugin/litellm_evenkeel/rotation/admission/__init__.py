"""Requests that wait for capacity."""

from __future__ import annotations
