"""What workers tell each other of holds, and what they make of words that are none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.held import Held
from litellm_evenkeel.rotation.kinds import Kind
from litellm_evenkeel.rotation.shared.words import FOREVER, RELEASED, heard, word

RATE = Held("a", "m", Kind.RATE_LIMIT, "slow down", 1_700_000_000.25, is_told=True)


@pytest.mark.parametrize(
    "held",
    [
        RATE,
        Held('ä"}{', None, Kind.PERMANENT, "", math.inf, is_told=True),
        Held("a", None, None, "", 5.0, is_told=True),
        Held("a", None, Kind.PERMANENT, "revoked", math.inf, is_told=True, credential="0123456789ab"),
    ],
)
def test_what_is_said_is_heard(held: Held) -> None:
    assert heard(word(held, "me").text) == ("me", held)
    assert heard(word(held, "me").text.encode()) == ("me", held)


def test_a_quarantine_is_kept_for_ever_and_a_release_forgets() -> None:
    assert word(Held("a", None, Kind.PERMANENT, "", math.inf, is_told=True), "x").until == FOREVER
    released = word(Held("a", None, None, "", 5.0, is_told=True), "x")
    assert (released.until, released.account) == (RELEASED, "a")
    assert word(RATE, "x").account == ""


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_nothing_that_is_said_breaks_who_listens(text: bytes | str) -> None:
    heard(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"v": 1', '"v": 2'),
        ('"account": "a"', '"account": 1'),
        ('"model": "m"', '"model": []'),
        ('"kind": "rate limit"', '"kind": "odd"'),
        ('"kind": "rate limit"', '"kind": {}'),
        ('"until": 1700000000.25', '"until": "soon"'),
        ('"until": 1700000000.25', '"until": null'),
        ('"until": 1700000000.25', '"until": NaN'),
        ('"told": true', '"told": 1'),
        ('"credential": ""', '"credential": 1'),
    ],
)
def test_a_damaged_word_is_none(old: str, new: str) -> None:
    text = word(RATE, "x").text
    assert old in text
    assert heard(text.replace(old, new)) is None


def test_words_of_those_who_know_nothing_of_credentials_are_heard() -> None:
    text = word(RATE, "x").text
    assert heard(text.replace(', "credential": ""', "")) == ("x", RATE)


def test_a_word_that_is_nothing_but_depth_is_none() -> None:
    assert heard("[" * 4000) is None
