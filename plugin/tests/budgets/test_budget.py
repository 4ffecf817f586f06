"""Observations of a budget, and which of two is valid."""

from __future__ import annotations

from hypothesis import given, strategies as st

from litellm_evenkeel.budgets import Budget, Source
from litellm_evenkeel.budgets.budget import absent, merge

amounts = st.none() | st.floats(0, 1e6)


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    as_of, source = draw(st.integers(0, 50).map(float)), draw(st.sampled_from(Source))
    if draw(st.integers(0, 9)) == 0:
        return absent(as_of, source)
    maximum, resets_at = draw(amounts), draw(st.none() | st.sampled_from([100.0, 200.0]))
    return Budget(
        as_of,
        source,
        maximum=maximum,
        spend=draw(amounts),
        resets_at=resets_at,
        alias=draw(st.none() | st.sampled_from("ab")),
        is_unlimited=maximum is None and draw(st.booleans()),
        never_resets=resets_at is None and draw(st.booleans()),
    )


def test_what_remains_is_known_only_of_a_known_spend_and_a_known_maximum() -> None:
    assert Budget(0.0, Source.EVENT, maximum=10.0, spend=12.0).remaining == -2.0
    assert Budget(0.0, Source.EVENT, maximum=10.0, spend=0.0).remaining == 10.0
    assert Budget(0.0, Source.EVENT, maximum=10.0).remaining is None
    assert Budget(0.0, Source.EVENT, spend=1.0).remaining is None
    assert Budget(0.0, Source.EVENT, spend=1.0, is_unlimited=True).remaining is None
    assert absent(0.0, Source.POSTGRES).remaining is None


def test_nothing_need_be_asked_about_who_has_no_maximum_or_does_not_exist() -> None:
    assert Budget(0.0, Source.EVENT, is_unlimited=True).is_complete
    assert absent(0.0, Source.POSTGRES).is_complete
    assert Budget(0.0, Source.EVENT, maximum=1.0, spend=0.0, never_resets=True).is_complete
    assert Budget(0.0, Source.EVENT, maximum=1.0, spend=0.0, resets_at=9.0).is_complete
    assert not Budget(0.0, Source.EVENT, maximum=1.0, spend=0.0).is_complete
    assert not Budget(0.0, Source.EVENT, maximum=1.0, never_resets=True).is_complete
    assert not Budget(0.0, Source.EVENT).is_complete


@given(budgets(), budgets())
def test_the_newer_word_counts_and_the_older_one_fills_what_it_leaves_open(known: Budget, told: Budget) -> None:
    found = merge(known, told)
    newer, older = (told, known) if told.as_of >= known.as_of else (known, told)
    if not newer.exists or not older.exists:
        assert found == newer
        return
    if newer.maximum is not None or newer.is_unlimited:
        assert (found.maximum, found.is_unlimited) == (newer.maximum, newer.is_unlimited)
    else:
        assert (found.maximum, found.is_unlimited) == (older.maximum, older.is_unlimited)
    if newer.spend is not None:
        assert (found.spend, found.as_of) == (newer.spend, newer.as_of)
    elif found.spend is not None:
        assert (found.spend, found.as_of) == (older.spend, older.as_of)
    assert found.maximum is None or not found.is_unlimited
    assert found.resets_at is None or not found.never_resets
    assert found.alias in {newer.alias, older.alias}


@given(budgets(), budgets())
def test_words_of_different_times_may_come_in_any_order(one: Budget, other: Budget) -> None:
    if one.as_of != other.as_of:
        assert merge(one, other) == merge(other, one)


@given(budgets())
def test_the_same_word_changes_nothing(one: Budget) -> None:
    assert merge(one, one) == one
    assert merge(None, one) is one


def test_a_spend_from_before_a_reset_is_none_of_after_it() -> None:
    before = Budget(1.0, Source.POSTGRES, maximum=10.0, spend=9.0, resets_at=100.0)
    after = Budget(150.0, Source.EVENT, resets_at=200.0)
    assert merge(before, after).spend is None
    # The same moment, in two spellings.
    assert merge(before, Budget(50.0, Source.EVENT, resets_at=100.0004)).spend == 9.0
