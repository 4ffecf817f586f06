from __future__ import annotations

from array import array

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.parsing.durations import NS
from evenkeel_mock.quotas.prefix_cache import BLOCK_BYTES, SET_WORDS, TTL_NS, PrefixCache, block_hashes

NOW = 1_800_000_000 * NS
SYSTEM = bytes(range(256)) * 8
BLOCKS = len(SYSTEM) // BLOCK_BYTES
TOKENS = len(SYSTEM) // 4


def cache(entries: int = 4096) -> PrefixCache:
    return PrefixCache(array("q", bytes(16 * entries)))


def test_a_prompt_is_cached_the_second_time() -> None:
    kept = cache()
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW) == 0
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW + 1) == TOKENS


def test_what_two_prompts_begin_with_is_cached() -> None:
    kept = cache()
    kept.use(b"a", b"m", SYSTEM + b"one" * 200, TOKENS + 150, NOW)
    longer = SYSTEM + b"two" * 200
    assert kept.use(b"a", b"m", longer, len(longer) // 4, NOW) == TOKENS


def test_the_same_end_is_not_cached() -> None:
    kept = cache()
    kept.use(b"a", b"m", SYSTEM, TOKENS, NOW)
    assert kept.use(b"a", b"m", b"x" * BLOCK_BYTES + SYSTEM, TOKENS + 64, NOW) == 0


@pytest.mark.parametrize(("account", "model"), [(b"b", b"m"), (b"a", b"n"), (b"am", b"")])
def test_accounts_and_models_do_not_share(account: bytes, model: bytes) -> None:
    kept = cache()
    kept.use(b"a", b"m", SYSTEM, TOKENS, NOW)
    assert kept.use(account, model, SYSTEM, TOKENS, NOW) == 0


def test_it_expires_after_five_minutes_without_use() -> None:
    kept = cache()
    kept.use(b"a", b"m", SYSTEM, TOKENS, NOW)
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW + TTL_NS - 1) == TOKENS
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW + 2 * TTL_NS - 2) == TOKENS
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW + 4 * TTL_NS) == 0


def test_a_prompt_below_a_block_is_not_cached() -> None:
    kept = cache()
    for _ in range(2):
        assert kept.use(b"a", b"m", b"short", 2000, NOW) == 0
    assert block_hashes(b"a", b"m", b"x" * (BLOCK_BYTES - 1)) == []


def test_what_lies_behind_a_lost_block_is_not_cached() -> None:
    table = array("q", bytes(16 * 4096))
    kept = PrefixCache(table)
    kept.use(b"a", b"m", SYSTEM, TOKENS, NOW)
    table[table.index(block_hashes(b"a", b"m", SYSTEM)[2])] = 0
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW) == 2 * TOKENS // BLOCKS
    assert kept.use(b"a", b"m", SYSTEM, TOKENS, NOW) == TOKENS


def test_the_least_recently_used_goes_first() -> None:
    kept = cache(entries=4)
    prompts = [bytes([number]) * BLOCK_BYTES for number in range(5)]
    for number, prompt in enumerate(prompts[:4]):
        kept.use(b"a", b"m", prompt, 64, NOW + number)
    assert kept.use(b"a", b"m", prompts[0], 64, NOW + 10) == 64
    kept.use(b"a", b"m", prompts[4], 64, NOW + 11)
    assert [kept.use(b"a", b"m", prompt, 64, NOW + 12) for prompt in (prompts[0], prompts[2], prompts[3])] == [64] * 3
    assert kept.use(b"a", b"m", prompts[1], 64, NOW + 13) == 0


def test_a_table_in_shared_memory_serves_several() -> None:
    memory = memoryview(bytearray(16 * 64)).cast("q")
    PrefixCache(memory).use(b"a", b"m", SYSTEM, TOKENS, NOW)
    assert PrefixCache(memory).use(b"a", b"m", SYSTEM, TOKENS, NOW) == TOKENS


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5 * BLOCK_BYTES), st.integers(0, 400)), max_size=30),
    st.integers(1, 8),
)
def test_what_is_cached_was_sent_and_is_no_more_than_the_prompt(
    requests: list[tuple[int, int, int]], sets: int
) -> None:
    table = array("q", bytes(8 * SET_WORDS * sets))
    kept = PrefixCache(table)
    longest: dict[int, int] = {}
    for text, length, later in requests:
        prompt = bytes([text]) * length
        cached = kept.use(b"a", b"m", prompt, length, NOW + later)
        assert 0 <= cached <= longest.get(text, 0) // BLOCK_BYTES * BLOCK_BYTES
        assert cached <= length
        longest[text] = max(longest.get(text, 0), length)
    assert len(table) == SET_WORDS * sets


@given(st.binary(max_size=1200), st.binary(max_size=600), st.binary(max_size=600))
def test_hashes_agree_exactly_on_the_blocks_in_common(start: bytes, one: bytes, other: bytes) -> None:
    first, second = block_hashes(b"a", b"m", start + one), block_hashes(b"a", b"m", start + other)
    shared = len(start) // BLOCK_BYTES
    assert first[:shared] == second[:shared]
    for number in range(min(len(first), len(second))):
        end = (number + 1) * BLOCK_BYTES
        assert (first[number] == second[number]) == ((start + one)[:end] == (start + other)[:end])
    assert all(first)
