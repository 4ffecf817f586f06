from __future__ import annotations

import math

from hypothesis import given, strategies as st

from litellm_evenkeel.journal.record import MOST_CHARACTERS, MOST_INTEGER, real, text, whole

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=st.characters(codec=None)), st.binary()
)


@given(ANYTHING)
def test_every_text_can_be_kept_anywhere(told: object) -> None:
    kept = text(told)
    kept.encode()
    assert kept.isprintable()
    assert len(kept) <= MOST_CHARACTERS


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), max_size=MOST_CHARACTERS))
def test_a_text_that_can_be_kept_stays_as_it_is(told: str) -> None:
    assert text(told) == told


@given(ANYTHING)
def test_every_number_can_be_kept_anywhere(told: object) -> None:
    assert 0 <= whole(told) <= MOST_INTEGER
    assert 0 <= real(told) < math.inf


@given(st.integers(0, MOST_INTEGER))
def test_a_number_that_can_be_kept_stays_as_it_is(told: int) -> None:
    assert whole(told) == told
