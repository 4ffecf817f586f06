"""Reproducible random numbers: each is a pure function of (seed, request key, name, number).

Two arms of an experiment, two runs, or two worker processes get the same numbers, in any order of requests. Nothing
depends on the platform, the process or Python's own hashing.
"""

from __future__ import annotations

import struct
from hashlib import blake2b

LANES = 8
"""Numbers that one hash yields. They are drawn in blocks, so that the gaps of a long stream cost little."""

_PREFIX = struct.Struct("<QQI")
_WORDS = struct.Struct(f"<{LANES}Q")
_SEED_MASK = 2**64 - 1
# 52 bits and a half: the middle of a cell, exact in a float, and so never 0 and never 1.
_SHIFT = 12
_CELL = 2.0**-52
_HALF = 2.0**-53


def uniform(seed: int, key: bytes, name: bytes, n: int = 0) -> float:
    """Return the n-th draw of that name, a number above 0 and below 1."""
    # The length of the key makes the hashed bytes unambiguous: ("ab", "c") is not ("a", "bc").
    prefix = _PREFIX.pack(seed & _SEED_MASK, n // LANES, len(key))
    word: int = _WORDS.unpack(blake2b(prefix + key + name).digest())[n % LANES]
    return (word >> _SHIFT) * _CELL + _HALF


def uniforms(seed: int, key: bytes, name: bytes, count: int) -> list[float]:
    """Return the first draws of that name: what `uniform` returns for 0, 1, 2, and so on."""
    seed &= _SEED_MASK
    length = len(key)
    tail = key + name
    drawn: list[float] = []
    for block in range(-(-count // LANES)):
        words = _WORDS.unpack(blake2b(_PREFIX.pack(seed, block, length) + tail).digest())
        drawn += [(word >> _SHIFT) * _CELL + _HALF for word in words]
    return drawn[:count]
