"""Read access to the plugin's journal: open it by its address, count, compare and page its records."""

from __future__ import annotations

from evenkeel_lab.journal_reader.opening import Address, open_journal

__all__ = ["Address", "open_journal"]
