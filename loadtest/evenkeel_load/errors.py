"""Errors of a load.

LoadError
├── LoadConfigError   an option or a file is not valid; exit code 2
└── LoadFailed        the machine or the target makes a load impossible; exit code 3
"""

from __future__ import annotations


class LoadError(Exception):
    """Base of all errors that a load raises on purpose."""

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}"


class LoadConfigError(LoadError):
    """An option or a file is not valid."""


class LoadFailed(LoadError):
    """The machine or the target makes a load impossible."""
