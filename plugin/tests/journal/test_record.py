from __future__ import annotations

import math

from hypothesis import given, strategies as st

from litellm_evenkeel.journal.record import MAX_INTEGER, MAX_TEXT_CHARACTERS, safe_float, safe_int, safe_text

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=st.characters(codec=None)), st.binary()
)


@given(ANYTHING)
def test_every_text_can_be_kept_anywhere(told: object) -> None:
    kept = safe_text(told)
    kept.encode()
    assert kept.isprintable()
    assert len(kept) <= MAX_TEXT_CHARACTERS


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), max_size=MAX_TEXT_CHARACTERS))
def test_a_text_that_can_be_kept_stays_as_it_is(told: str) -> None:
    assert safe_text(told) == told


@given(ANYTHING)
def test_every_number_can_be_kept_anywhere(told: object) -> None:
    assert 0 <= safe_int(told) <= MAX_INTEGER
    assert 0 <= safe_float(told) < math.inf


@given(st.integers(0, MAX_INTEGER))
def test_a_number_that_can_be_kept_stays_as_it_is(told: int) -> None:
    assert safe_int(told) == told
