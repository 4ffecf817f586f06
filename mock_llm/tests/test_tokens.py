from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock import tokens

# What JSON can say: everything but half a surrogate pair.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("привет", 3), ("你好", 2), ("🚢", 1)]
)
def test_four_bytes_are_a_token(text: str, count: int) -> None:
    assert tokens.count(text) == count


@given(TEXTS)
def test_a_text_is_cut_into_as_many_pieces_as_it_has_tokens(text: str) -> None:
    pieces = tokens.split(text)
    assert "".join(pieces) == text
    assert len(pieces) == tokens.count(text)
    assert all(pieces)


@given(st.lists(TEXTS))
def test_a_prompt_is_its_texts_and_what_surrounds_them(texts: list[str]) -> None:
    bare = tokens.prompt(texts)
    assert bare == max(1, tokens.count("".join(texts)))
    with_more = tokens.prompt(texts, messages=2, media=1)
    assert with_more >= bare + 2 * tokens.MESSAGE_TOKENS + tokens.MEDIA_TOKENS - 1
