"""What the plugin raises, as one tree.

EvenkeelError
└── UnsupportedLiteLLM     the running LiteLLM is too old, or a compromised release
"""

from __future__ import annotations


class EvenkeelError(Exception):
    """Base of all of them; the text says what, where and the cure."""


class UnsupportedLiteLLM(EvenkeelError):
    """The plugin must not or cannot work with this LiteLLM."""
