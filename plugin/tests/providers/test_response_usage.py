from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.providers.response_usage import parse_usage, usage_of_response

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "prompt_tokens",
                    "completion_tokens",
                    "total_tokens",
                    "prompt_tokens_details",
                    "cached_tokens",
                    "input_tokens",
                    "output_tokens",
                    "cache_read_input_tokens",
                    "input_tokens_details",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(values, values, values, st.booleans())
def test_whatever_an_answer_is_made_of_it_is_read(usage: object, cost: object, headers: object, is_dict: bool) -> None:  # noqa: FBT001
    hidden = {"response_cost": cost, "additional_headers": headers}
    response = {"usage": usage, "_hidden_params": hidden}
    found = usage_of_response(response if is_dict else SimpleNamespace(**response))
    numbers = (found.prompt_tokens, found.output_tokens, found.total_tokens, found.cached_tokens, found.dollars)
    assert all(0 <= each < float("inf") for each in numbers)
    assert found.is_known == (found.total_tokens > 0)
    assert found.total_tokens >= found.prompt_tokens + found.output_tokens


@pytest.mark.parametrize("response", [None, b"data: x", "data: x", 3, [], {}, SimpleNamespace(usage=None)])
def test_what_is_no_answer_tells_nothing(response: object) -> None:
    assert not usage_of_response(response).is_known


def test_openais() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    found = parse_usage(usage, dollars=0.5, headers={"a": "b"})
    assert (found.prompt_tokens, found.output_tokens, found.total_tokens, found.cached_tokens) == (100, 20, 120, 64)
    assert (found.dollars, found.headers) == (0.5, {"a": "b"})


def test_anthropics_counts_what_was_cached_beside_the_rest() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
    }
    found = parse_usage(usage)
    assert (found.prompt_tokens, found.cached_tokens, found.total_tokens) == (240, 200, 245)


def test_openais_newer_answers_count_it_among_them() -> None:
    usage = {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 64}}
    found = parse_usage(SimpleNamespace(**usage))
    assert (found.prompt_tokens, found.cached_tokens, found.total_tokens) == (100, 64, 105)


def test_an_answer_from_litellms_cache_asked_no_account() -> None:
    usage = SimpleNamespace(prompt_tokens=3, completion_tokens=4, total_tokens=7)
    assert usage_of_response(SimpleNamespace(usage=usage, _hidden_params={"cache_hit": True})).is_from_cache
    assert not usage_of_response(SimpleNamespace(usage=usage, _hidden_params={})).is_from_cache
