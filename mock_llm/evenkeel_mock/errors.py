"""Exceptions of the mock.

MockError
├── MockConfigError   invalid configuration, with a hint
├── MockFailed        an error of the machine, not of the configuration
└── BadRequest        a request that a provider would refuse; answered in the provider's format
"""

from __future__ import annotations


class MockError(Exception):
    """Base of every error that the mock raises on purpose."""


class MockConfigError(MockError):
    """A setting, a header or a file is invalid."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}".rstrip()


class MockFailed(MockError):  # it is not the user's error
    """The machine prevented the mock from working."""

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(f"{what} {hint}")


class BadRequest(MockError):
    """A request that a provider would refuse; its message is sent to the client."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
