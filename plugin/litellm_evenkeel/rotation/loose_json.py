"""Reading what is almost JSON: cut off in the middle, followed by other words, or printed by Python.

Strings are taken whole, so that what a user wrote inside one is never mistaken for a field of the response.
"""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 65_536
"""No error needs more; what comes after is not looked at."""
_LONGEST_LOOSE = 16_384
"""Less of what only this reader can read: it takes about a microsecond for a word, in the middle of a request."""
_DEEPEST = 40

_DECODER = json.JSONDecoder()
_TOKENS = re.compile(
    r"""
    "(?P<double>(?:[^"\\]|\\.)*)(?:"|\\?\Z)
  | '(?P<single>(?:[^'\\]|\\.)*)(?:'|\\?\Z)
  | (?P<mark>[{}\[\]:,])
  | (?P<word>[^\s{}\[\]:,"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORDS: dict[str, Any] = {"null": None, "None": None, "true": True, "True": True, "false": False, "False": False}
_NOTHING: Any = object()


def loads(text: str) -> Any:
    """Return the object or list at the beginning of a text, as much of it as there is; None if there is none."""
    text = text[:LONGEST].lstrip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return _Reader().read(text[:_LONGEST_LOOSE])


class _Reader:
    """Builds objects and lists from tokens, closing what is left open."""

    def __init__(self) -> None:
        self.root: Any = None
        self.open: list[Any] = []
        # For each open object, the key that waits for its value.
        self.keys: list[Any] = []

    def read(self, text: str) -> Any:
        """Return the first object or list."""
        for token in _TOKENS.finditer(text):
            mark = token["mark"]
            if mark is None:
                self._value(_scalar(token))
            elif mark in "{[":
                if len(self.open) == _DEEPEST:
                    break
                self._begin({} if mark == "{" else [])
            elif mark in "}]":
                self.open.pop()
                self.keys.pop()
                if not self.open:
                    break
            elif mark == "," and isinstance(self.open[-1], dict):
                self.keys[-1] = _NOTHING
        return self.root

    def _begin(self, container: Any) -> None:
        if not self.open:
            self.root = container
        else:
            self._value(container)
        self.open.append(container)
        self.keys.append(_NOTHING)

    def _value(self, value: Any) -> None:
        inside = self.open[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif self.keys[-1] is _NOTHING:
            self.keys[-1] = value if isinstance(value, str) else None
        elif self.keys[-1] is not None:
            inside[self.keys[-1]] = value
            self.keys[-1] = None


def _scalar(token: re.Match[str]) -> Any:
    text = token["double"] if token["double"] is not None else token["single"]
    if text is not None:
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)
    word = token["word"]
    if word in _WORDS:
        return _WORDS[word]
    try:
        return int(word) if word.isdecimal() and len(word) <= 20 else float(word)  # noqa: PLR2004 - an int's digits
    except ValueError:
        return word
