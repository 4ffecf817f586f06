"""A provider's prompt cache: how much of a prompt an account has sent before.

A prompt is cut into blocks of 64 tokens or so. The hash of a block covers all blocks before it, the model and the
account: two prompts share the blocks that they begin with, and no more. What is kept is a table of integers, pairs of
a hash and when it expires, which may lie in shared memory: workers then share the cache. Nothing is locked; a torn
write loses an entry, or keeps one a little longer.

The table is bounded. A block may lie in any of 4 places; a new one takes an empty or expired place, or that of the
one that was used longest ago.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkeel_mock.parsing.durations import MINUTE, NS

if TYPE_CHECKING:
    from collections.abc import MutableSequence

BLOCK_BYTES = 256
"""A block in bytes of text: 64 tokens of 4."""
WAYS = 4
PAIR = 2
SET_WORDS = WAYS * PAIR
TTL_NS = 5 * MINUTE * NS
_HASH = struct.Struct("<q")
_LARGEST = 2**63 - 1


def block_hashes(account: bytes, model: bytes, prompt: bytes) -> list[int]:
    """Return the chained hashes of all full blocks of a prompt, none of them 0."""
    count = len(prompt) // BLOCK_BYTES
    if not count:
        return []
    chain = blake2b(b"%d %b%b" % (len(account), account, model), digest_size=8).digest()
    hashes = []
    for start in range(0, count * BLOCK_BYTES, BLOCK_BYTES):
        chain = blake2b(prompt[start : start + BLOCK_BYTES], digest_size=8, key=chain).digest()
        hashes.append(_HASH.unpack(chain)[0] or 1)
    return hashes


class PrefixCache:
    """The cache over a table of integers, zeros at first, whose length is a multiple of 8."""

    def __init__(self, table: MutableSequence[int] | memoryview) -> None:
        self._table = table
        self._sets = len(table) // SET_WORDS

    def use(self, account: bytes, model: bytes, prompt: bytes, prompt_tokens: int, now_ns: int) -> int:
        """Return how many tokens of a prompt are cached, and cache all of it from now on."""
        if len(prompt) < BLOCK_BYTES:
            return 0
        expires = min(now_ns + TTL_NS, _LARGEST)
        matched, matching = 0, True
        for block in block_hashes(account, model, prompt):
            is_cached = self._touch(block, now_ns, expires)
            # A block after a gap does not count: a provider resumes from the beginning or not at all.
            matching = matching and is_cached
            matched += matching
        # Of the request's own count, so that what is cached is never more than the prompt.
        return prompt_tokens * matched * BLOCK_BYTES // len(prompt)

    def _touch(self, block: int, now_ns: int, expires: int) -> bool:
        """Return whether a block is cached and has not expired. Afterwards it is cached."""
        table = self._table
        start = block % self._sets * SET_WORDS
        oldest, at = _LARGEST, start
        for index in range(start, start + SET_WORDS, PAIR):
            until = table[index + 1]
            if table[index] == block:
                table[index + 1] = expires
                return until > now_ns
            if until < oldest:
                oldest, at = until, index
        table[at] = block
        table[at + 1] = expires
        return False
