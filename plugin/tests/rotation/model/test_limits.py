"""Settings of an account's limits."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model.limits import COUNTED, Limits, RateLimit

REQUESTS, TOKENS, DOLLARS = COUNTED


@pytest.mark.parametrize(
    ("told", "windows"),
    [
        (None, ()),
        ({}, ()),
        ({"rpm": 500}, (RateLimit(REQUESTS, 500, 60),)),
        ({"rpm": None, "tpm": 1.5}, (RateLimit(TOKENS, 1.5, 60),)),
        ({"windows": [{"for": "5h", "requests": 200}]}, (RateLimit(REQUESTS, 200, 18_000),)),
        (
            {"windows": [{"for": "7d", "requests": 9, "tokens": 2e6}]},
            (RateLimit(REQUESTS, 9, 604_800), RateLimit(TOKENS, 2e6, 604_800)),
        ),
        ({"windows": [{"for": 90, "tokens": 1}]}, (RateLimit(TOKENS, 1, 90),)),
        ({"daily": 1000}, (RateLimit(REQUESTS, 1000, 86_400),)),
        ({"daily": {"tokens": 1000}}, (RateLimit(TOKENS, 1000, 86_400),)),
        ({"budget": {"dollars": 20, "for": "30d"}}, (RateLimit(DOLLARS, 20, 2_592_000),)),
    ],
)
def test_limits_are_read(told: object, windows: tuple[RateLimit, ...]) -> None:
    assert Limits.of(told, "limits").windows == windows


def test_a_number_of_requests_at_a_time_is_no_window() -> None:
    assert Limits.of({"concurrent": 8}, "limits") == Limits((), 8)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], "limits: expected a mapping, got list. Hint: write a mapping of rpm"),
        ({"rmp": 500}, "limits: expected a known name, got 'rmp'. Hint: did you mean rpm?"),
        ({"rpm": 0}, "limits.rpm: expected an amount, got '0'. Hint: write a number above 0."),
        ({"rpm": True}, "limits.rpm: expected an amount, got 'True'"),
        ({"rpm": "500"}, "limits.rpm: expected an amount, got '500'"),
        ({"rpm": float("nan")}, "limits.rpm: expected an amount, got 'nan'"),
        ({"concurrent": 0}, "limits.concurrent: expected a number of requests, got 0"),
        ({"concurrent": True}, "limits.concurrent: expected a number of requests, got True"),
        ({"windows": {"for": "5h"}}, "limits.windows: expected a list, got dict"),
        ({"windows": [{"for": "5h"}]}, r"limits.windows\[1\]: expected an amount to limit, got none"),
        ({"windows": [{"for": "soon", "tokens": 1}]}, r"limits.windows\[1\].for: expected a period, got 'soon'"),
        ({"windows": [{"tokens": 1}]}, r"limits.windows\[1\].for: expected a period, got 'None'"),
        ({"windows": [{"for": 1, "tokens": 1}] * 17}, "limits: expected at most 16 limits, got 17"),
        ({"daily": {"for": "1d", "tokens": 1}}, "limits.daily: expected a known name, got 'for'"),
        ({"budget": 20}, "limits.budget: expected a mapping, got int"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(told: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Limits.of(told, "limits")


names = st.sampled_from(["rpm", "windows", "for", "daily", "tokens", "budget"])
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda x: st.dictionaries(names, x) | st.lists(x)
)


@given(anything)
def test_anything_is_read_or_refused(told: object) -> None:
    with contextlib.suppress(SettingsError):
        assert all(one.amount > 0 and one.seconds > 0 for one in Limits.of(told, "limits").windows)


@pytest.mark.parametrize(
    ("seconds", "name"), [(60, "tokens/1m"), (18_000, "tokens/5h"), (604_800, "tokens/7d"), (90, "tokens/90s")]
)
def test_a_limit_has_a_short_name(seconds: float, name: str) -> None:
    assert RateLimit(TOKENS, 1, seconds).name == name
