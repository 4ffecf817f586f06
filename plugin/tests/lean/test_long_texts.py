"""Texts of errors, which LiteLLM searches for secrets: long ones are cut, and no secret with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from litellm.litellm_core_utils import secret_redaction
from litellm.litellm_core_utils.secret_redaction import redact_string

from litellm_evenkeel.lean.long_texts import KEPT_CHARACTERS, MAX_CHARACTERS, cut_long_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "sk-" + "a1B2" * 12
STOCK = secret_redaction._SECRET_RE


@pytest.fixture(autouse=True, scope="module")
def cutting() -> Iterator[None]:
    cut_long_texts()
    yield
    secret_redaction._SECRET_RE = STOCK


@given(st.text(alphabet="ab {}:'\"=/", max_size=300), st.integers(0, 300))
def test_texts_of_ordinary_length_are_those_of_litellm(text: str, at: int) -> None:
    with_secret = f"{text[:at]} {SECRET} {text[at:]}"
    assert redact_string(with_secret) == STOCK.sub(secret_redaction.REDACTED, with_secret)


@given(st.integers(0, MAX_CHARACTERS + 100))
def test_no_part_of_a_secret_is_left_wherever_it_is(at: int) -> None:
    text = " " * at + SECRET + " " * MAX_CHARACTERS
    redacted = redact_string(text)
    assert "a1B2" not in redacted
    assert ("REDACTED" in redacted) == (at < KEPT_CHARACTERS)


def test_a_long_text_keeps_its_beginning_and_says_what_is_left_out() -> None:
    text = "quota exceeded " + "x" * 10_000_000
    redacted = redact_string(text)
    assert redacted.startswith("quota exceeded xxx")
    assert redacted.endswith(f"... ({len(text) - KEPT_CHARACTERS:,} more characters)")
    assert len(redacted) < KEPT_CHARACTERS + 100


def test_the_change_is_made_once() -> None:
    changed = secret_redaction._SECRET_RE
    cut_long_texts()
    assert secret_redaction._SECRET_RE is changed
