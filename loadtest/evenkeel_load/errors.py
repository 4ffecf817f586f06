"""What can go wrong with a load, as one tree.

LoadError
├── LoadConfigError   what a user asked for cannot be; exit code 2
└── LoadFailed        the machine, or what is loaded, does not let a load be made; exit code 3
"""

from __future__ import annotations


class LoadError(Exception):
    """Base of every error that the load raises on purpose."""

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}"


class LoadConfigError(LoadError):
    """An option or a file of the user's does not say what it should."""


class LoadFailed(LoadError):
    """The machine, or what is loaded, does not let a load be made."""
