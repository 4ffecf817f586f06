"""Helpers without domain knowledge. They import nothing of the plugin but its errors."""

from __future__ import annotations
