"""What the plugin raises, as one tree.

EvenkeelError
├── SettingsError          what an operator wrote cannot be
├── Refused                an operator's question that cannot be answered
└── UnsupportedLiteLLM     the running LiteLLM is too old, or a compromised release
"""

from __future__ import annotations


class EvenkeelError(Exception):
    """Base of all of them; the text says what, where and the cure."""


class SettingsError(EvenkeelError):
    """Something that an operator wrote cannot be; the text says where, and what may stand there."""


class UnsupportedLiteLLM(EvenkeelError):
    """The plugin must not or cannot work with this LiteLLM."""


class AdminRequestError(EvenkeelError):
    """A question of an operator's that cannot be answered: what is wrong with it, and the cure."""

    def __init__(self, message: str, hint: str, status: int = 422) -> None:
        super().__init__(f"{message} {hint}")
        self.message, self.hint, self.status = message, hint, status
