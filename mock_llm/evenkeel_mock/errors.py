"""What can go wrong in the mock, as one tree.

MockError
├── MockConfigError   what a user configured cannot be; says what, and what cures it
├── MockFailed        the machine did not let the mock do its work
└── BadRequest        a request that a provider would refuse; answered in the provider's own shape
"""

from __future__ import annotations


class MockError(Exception):
    """Base of every error that the mock raises on purpose."""


class MockConfigError(MockError):
    """A setting, a header or a file of the user's does not say what it should."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}".rstrip()


class MockFailed(MockError):  # it is not the user's error
    """The machine did not let the mock do its work."""

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(f"{what} {hint}")


class BadRequest(MockError):
    """A request that a provider would refuse; its text is told to the client."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
