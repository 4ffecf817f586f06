"""Cooldown updates between workers, and messages that are not valid."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import (
    FOREVER,
    MODEL_QUARANTINE_SECONDS,
    RELEASED,
    decode,
    encode,
)
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

RATE = CooldownUpdate("a", "m", FailureKind.RATE_LIMIT, "slow down", 1_700_000_000.25, is_provider_stated=True)


@pytest.mark.parametrize(
    "update",
    [
        RATE,
        CooldownUpdate('ä"}{', None, FailureKind.PERMANENT, "", math.inf, is_provider_stated=True),
        CooldownUpdate("a", None, None, "", 5.0, is_provider_stated=True),
        CooldownUpdate(
            "a", None, FailureKind.PERMANENT, "revoked", math.inf, is_provider_stated=True, credential="0123456789ab"
        ),
    ],
)
def test_what_is_said_is_heard(update: CooldownUpdate) -> None:
    assert decode(encode(update, "me", 0.0).text) == ("me", update)
    assert decode(encode(update, "me", 0.0).text.encode()) == ("me", update)


def test_a_quarantine_is_kept_for_ever_and_a_release_forgets() -> None:
    assert (
        encode(CooldownUpdate("a", None, FailureKind.PERMANENT, "", math.inf, is_provider_stated=True), "x", 0.0).until
        == FOREVER
    )
    model = CooldownUpdate("a", "m", FailureKind.PERMANENT, "", math.inf, is_provider_stated=True)
    assert encode(model, "x", 5.0).until == 5.0 + MODEL_QUARANTINE_SECONDS
    released = encode(CooldownUpdate("a", None, None, "", 5.0, is_provider_stated=True), "x", 0.0)
    assert (released.until, released.account) == (RELEASED, "a")
    assert encode(RATE, "x", 0.0).account == ""


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_nothing_that_is_said_breaks_who_listens(text: bytes | str) -> None:
    decode(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"v": 2', '"v": 1'),
        ('"account": "a"', '"account": 1'),
        ('"model": "m"', '"model": []'),
        ('"kind": "rate_limit"', '"kind": "odd"'),
        ('"kind": "rate_limit"', '"kind": {}'),
        ('"until": 1700000000.25', '"until": "soon"'),
        ('"until": 1700000000.25', '"until": null'),
        ('"until": 1700000000.25', '"until": NaN'),
        ('"provider_stated": true', '"provider_stated": 1'),
        ('"credential": ""', '"credential": 1'),
    ],
)
def test_a_damaged_word_is_none(old: str, new: str) -> None:
    text = encode(RATE, "x", 0.0).text
    assert old in text
    assert decode(text.replace(old, new)) is None


def test_words_of_those_who_know_nothing_of_credentials_are_heard() -> None:
    text = encode(RATE, "x", 0.0).text
    assert decode(text.replace(', "credential": ""', "")) == ("x", RATE)


def test_a_word_that_is_nothing_but_depth_is_none() -> None:
    assert decode("[" * 4000) is None
