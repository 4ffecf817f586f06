"""What the plugin raises, as one tree.

EvenkeelError
├── SettingsError          what an operator wrote cannot be
└── UnsupportedLiteLLM     the running LiteLLM is too old, or a compromised release
"""

from __future__ import annotations


class EvenkeelError(Exception):
    """Base of all of them; the text says what, where and the cure."""


class SettingsError(EvenkeelError):
    """Something that an operator wrote cannot be; the text says where, and what may stand there."""


class UnsupportedLiteLLM(EvenkeelError):
    """The plugin must not or cannot work with this LiteLLM."""
