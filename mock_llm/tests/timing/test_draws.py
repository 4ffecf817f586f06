from __future__ import annotations

import subprocess
import sys
from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.timing.draws import LANES, uniform, uniforms

SEEDS = st.integers(0, 2**64 - 1)
KEYS = st.binary(max_size=40)


# Known answers: a change of the numbers would silently part old runs from new ones.
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, b"", b"", 0), 0.8649703840580573),
        ((1, b"key", b"ttft", 0), 0.8896168958679936),
        ((1, b"key", b"ttft", 9), 0.2502976642255105),
        ((18446744073709551615, b"\x00\xff", b"gap", 1000), 0.6597280527787385),
        ((-1, b"\x00\xff", b"gap", 1000), 0.6597280527787385),
    ],
)
def test_draws_never_change(arguments: tuple[int, bytes, bytes, int], expected: float) -> None:
    assert uniform(*arguments) == expected


@given(SEEDS, KEYS, KEYS, st.integers(0, 10_000))
def test_a_draw_lies_inside_of_0_and_1(seed: int, key: bytes, name: bytes, n: int) -> None:
    assert 0 < uniform(seed, key, name, n) < 1


@given(SEEDS, KEYS, KEYS, st.integers(0, 50))
def test_many_draws_are_the_single_ones(seed: int, key: bytes, name: bytes, count: int) -> None:
    assert uniforms(seed, key, name, count) == [uniform(seed, key, name, n) for n in range(count)]


def test_seed_key_name_and_number_each_count() -> None:
    drawn = [
        uniform(1, b"ab", b"c"),
        uniform(2, b"ab", b"c"),
        uniform(1, b"a", b"bc"),
        uniform(1, b"ab", b"d"),
        uniform(1, b"ab", b"c", 1),
        uniform(1, b"ab", b"c", LANES),
    ]
    assert len(set(drawn)) == len(drawn)


def test_draws_are_uniform() -> None:
    drawn = uniforms(0, b"key", b"name", 20_000)
    shares = [sum(number / 10 <= u < (number + 1) / 10 for u in drawn) / len(drawn) for number in range(10)]
    # Four standard errors.
    assert all(abs(share - 0.1) < 4 * (0.09 / len(drawn)) ** 0.5 for share in shares)
    first_of_keys = [uniform(0, b"%d" % number, b"ttft") for number in range(20_000)]
    assert abs(fmean(first_of_keys) - 0.5) < 4 * (1 / 12 / len(first_of_keys)) ** 0.5


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    code = "from evenkeel_mock.timing.draws import uniforms; print(uniforms(7, b'key', b'gap', 20))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{uniforms(7, b'key', b'gap', 20)}\n"}
