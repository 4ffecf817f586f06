"""Token counts of texts: four bytes of UTF-8 are one token.

An approximation that needs no tokenizer, takes no time, and is the same everywhere: four letters of English, two of
Russian, a little over one of Chinese. `split` cuts a text into exactly as many pieces as `count` counts, so an echo
streams as many chunks as it bills.

A prompt is the bytes of all its texts, those of tool definitions included, plus a fixed number for each message (its
role and its boundaries) and for each image or file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BYTES_PER_TOKEN = 4
MESSAGE_TOKENS = 4
MEDIA_TOKENS = 256
_CONTINUES_MASK, _CONTINUES = 0xC0, 0x80


def size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    # An ASCII text knows that it is one: no pass over it is needed.
    return len(text) if text.isascii() else len(text.encode())


def count(text: str) -> int:
    """Return the tokens of a text."""
    return -(-size(text) // BYTES_PER_TOKEN)


def prompt(texts: Iterable[str], messages: int = 0, media: int = 0) -> int:
    """Return the tokens of a prompt, at least one."""
    # Summed before it is rounded: many short texts would otherwise each be rounded up.
    total = 0
    for text in texts:
        total += len(text) if text.isascii() else len(text.encode())
    return max(1, -(-total // BYTES_PER_TOKEN) + MESSAGE_TOKENS * messages + MEDIA_TOKENS * media)


def split(text: str) -> list[str]:
    """Return the pieces of a text, one for each token."""
    if text.isascii():
        return [text[at : at + BYTES_PER_TOKEN] for at in range(0, len(text), BYTES_PER_TOKEN)]
    # A piece has the characters that end within its four bytes. No character is longer than that, so none is empty.
    data = text.encode()
    cuts = [_character(data, at) for at in range(0, len(data), BYTES_PER_TOKEN)]
    return [data[start:end].decode() for start, end in zip(cuts, [*cuts[1:], len(data)], strict=True)]


def _character(data: bytes, at: int) -> int:
    """Return where the character begins that has this byte."""
    while data[at] & _CONTINUES_MASK == _CONTINUES:
        at -= 1
    return at
