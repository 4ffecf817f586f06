"""Budgets in Redis for other workers, and values that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.budgets import Budget, Source
from litellm_evenkeel.budgets.redis import decode, encode

amounts = st.none() | st.floats(-1e9, 1e9)
names = st.sampled_from([None, "", "ä\n", "x@example.com"])
budgets = st.builds(
    Budget, st.floats(0, 1e10), st.just(Source.REDIS), amounts, amounts, amounts, names, names,
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip


@given(budgets)
def test_what_is_written_is_read_as_it_was(budget: Budget) -> None:
    assert decode(encode(budget)) == budget
    assert decode(encode(budget).encode()) == budget


@pytest.mark.parametrize(
    "text",
    [
        None, "", "x", b"\xff", "null", "1", "[]", "{}", "[1,2]", "[" * 5000,
        "[2,1.0,null,null,null,null,null,true,false,false]",
        "[1,null,null,null,null,null,null,true,false,false]",
        "[1,NaN,null,null,null,null,null,true,false,false]",
        f"[1,{10**400},null,null,null,null,null,true,false,false]",
        f"[1,1.0,{10**400},null,null,null,null,true,false,false]",
        '[1,1.0,"9",null,null,null,null,true,false,false]',
        "[1,1.0,true,null,null,null,null,true,false,false]",
        "[1,1.0,Infinity,null,null,null,null,true,false,false]",
        "[1,1.0,null,null,null,5,null,true,false,false]",
        "[1,1.0,null,null,null,null,null,1,false,false]",
    ],
)  # fmt: skip
def test_what_nobody_of_ours_has_written_is_nothing(text: str | bytes | None) -> None:
    assert decode(text) is None
