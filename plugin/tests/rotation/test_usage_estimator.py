from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.rotation.model.request import Usage
from litellm_evenkeel.rotation.usage_estimator import MAX_MODEL_GROUPS, UsageEstimator

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["content", "text", "role", "type", "input", "prompt", "max_tokens", "max_output_tokens"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)
requests = st.dictionaries(
    st.sampled_from(["max_tokens", "max_completion_tokens", "max_output_tokens", "input", "prompt", "messages"]),
    anything,
)


@settings(max_examples=100, deadline=None)
@given(requests, anything)
def test_whatever_a_request_is_made_of_it_needs_something(request: dict[str, object], messages: object) -> None:
    usage = UsageEstimator(500).estimate("g", request, messages)
    assert usage.requests == 1
    assert 0 <= usage.tokens < float("inf")
    assert 0 <= usage.dollars < float("inf")


def test_it_is_reckoned_from_the_length_and_the_answers_maximum() -> None:
    estimates = UsageEstimator(500)
    messages = [
        {"role": "user", "content": "x" * 400},
        {"role": "user", "content": [{"type": "text", "text": "y" * 40}]},
    ]
    assert estimates.estimate("g", {}, messages).tokens == 100 + 10 + 500
    assert estimates.estimate("g", {"max_tokens": 20}, messages).tokens == 130
    assert estimates.estimate("g", {"max_tokens": 20_000}, messages).tokens == 610
    assert estimates.estimate("g", {"input": "x" * 40}, None).tokens == 510
    assert estimates.estimate("g", {"input": [1, 2, 3]}, None).tokens == 503
    assert (
        estimates.estimate("g", {}, [{"content": [{"type": "image_url", "image_url": {"url": "x" * 9000}}]}]).tokens
        == 1300
    )


def test_a_long_conversation_is_reckoned_from_its_beginning() -> None:
    messages = [{"content": "x" * 40}] * 10_000
    assert UsageEstimator(0).estimate("g", {}, messages).tokens == pytest.approx(100_000)


def test_it_learns_how_long_and_how_dear_answers_are() -> None:
    estimates = UsageEstimator(500)
    for _ in range(100):
        estimates.observe("g", 50.0, 100.0, 0.01)
    usage = estimates.estimate("g", {}, "x" * 200)
    assert usage.tokens == pytest.approx(100, rel=0.01)
    assert usage.dollars == pytest.approx(0.01, rel=0.02)
    assert estimates.estimate("other", {}, "").tokens == 500
    estimates.observe("g", 0.0, 0.0, 0.0)
    assert estimates.estimate("g", {}, "x" * 200) == usage


def test_it_remembers_no_more_groups_than_it_may() -> None:
    estimates = UsageEstimator(500)
    for number in range(MAX_MODEL_GROUPS + 5):
        estimates.observe(str(number), 7.0, 10.0, 0.0)
    assert estimates.estimate("0", {}, "") == Usage(1.0, 500.0, 0.0)
    assert estimates.estimate(str(MAX_MODEL_GROUPS), {}, "").tokens == 7


def test_what_agents_send_is_seen() -> None:
    estimates = UsageEstimator(0)
    result = {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "x" * 40_000}]}]}
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "y" * 4_000}}]}
    assert estimates.estimate("g", {}, [result]).tokens >= 10_000
    assert estimates.estimate("g", {}, [called]).tokens >= 1_000
    tools = [{"function": {"description": "z" * 4_000}}] * 20
    assert estimates.estimate("g", {"tools": tools}, []).tokens >= 20_000
