"""The plugin's journal, read where it lies: opened by its address, counted, moved."""

from __future__ import annotations

from evenkeel_lab.journal_reader.opening import Address, opened

__all__ = ["Address", "opened"]
