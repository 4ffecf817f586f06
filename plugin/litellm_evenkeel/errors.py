"""Exceptions of the plugin."""

from __future__ import annotations


class EvenkeelError(Exception):
    """Base class of the plugin's exceptions. The text names the place, the problem and a hint."""


class SettingsError(EvenkeelError):
    """Invalid settings. The text has a line for each: its path, the expected value and a hint."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class UnsupportedLiteLLM(EvenkeelError):
    """An installed LiteLLM that is too old, broken or compromised."""


class AdminRequestError(EvenkeelError):
    """An invalid request to the admin API, with a hint and the HTTP status of the response."""

    def __init__(self, message: str, hint: str, status: int = 422) -> None:
        super().__init__(f"{message} {hint}")
        self.message, self.hint, self.status = message, hint, status
