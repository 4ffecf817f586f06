"""Spans and moments, in all spellings."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.support import durations

NOW = 1767225600.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("20", 20.0),
        (" 2.5 ", 2.5),
        (3, 3.0),
        (0.25, 0.25),
        ("6ms", 0.006),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("7ns", 7e-9),
        ("1s", 1.0),
        ("34.07s", 34.07),
        ("34.074824224s", 34.074824224),
        ("1m2.5s", 62.5),
        ("1h", 3600.0),
        ("1h2m3s", 3723.0),
        ("1h0m0.5s", 3600.5),
        ("2d3h", 183600.0),
        ("20 minutes", 1200.0),
        ("1 minute and 30 seconds", 90.0),
        ("3 days, 5 hours, 22 minutes", 278520.0),
        ("3 Days 5 hrs", 277200.0),
        ("1 week", 604800.0),
    ],
)
def test_a_span_is_read(text: object, seconds: float) -> None:
    assert durations.span(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        *["", "soon", "-1", "-1s", "nan", "inf", "1e3", "1_000", "٣", "1 parsec", "1m2", "s", "1.2.3s"],
        *["9" * 30, "1s" * 60, None, True, float("nan"), float("inf"), -0.5, 10**400, [], {}],
    ],
)
def test_what_is_no_span_is_none(text: object) -> None:
    assert durations.span(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1767225660", 60.0),
        (1767225660, 60.0),
        (1767225660.5, 60.5),
        ("1767225660000", 60.0),
        (1767225660000000, 60.0),
        ("1767225660000000000", 60.0),
        ("2026-01-01T00:01:00Z", 60.0),
        ("2026-01-01T00:01:00.250Z", 60.25),
        ("2026-01-01T02:01:00+02:00", 60.0),
        ("2026-01-01T00:01:00", 60.0),
        ("2026-01-01", 0.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thursday, 01-Jan-26 00:01:00 GMT", 60.0),
        ("2025-12-31T23:59:59Z", 0.0),
        ("Wed, 31 Dec 2025 23:59:59 GMT", 0.0),
        ("1767225000", 0.0),
        ("59.7s", 59.7),
        ("59", 59.0),
    ],
)
def test_a_moment_is_as_far_as_it_is(text: object, seconds: float) -> None:
    assert durations.wait(text, NOW) == pytest.approx(seconds, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["2026-13-01T00:00:00Z", "0000-00-00", "Mon, 99 Foo 2026", "Sat, ", "tomorrow", "2026-01-01Tx", None, b"1"]
)
def test_what_is_no_moment_is_none(text: object) -> None:
    assert durations.wait(text, NOW) is None


@given(st.integers(0, 10**7))
def test_every_spelling_of_a_moment_says_the_same(seconds: int) -> None:
    moment = datetime.fromtimestamp(NOW + seconds, tz=UTC)
    for text in (
        moment.isoformat(),
        moment.isoformat().replace("+00:00", "Z"),
        format_datetime(moment, usegmt=True),
        str(int(NOW) + seconds),
        str((int(NOW) + seconds) * 1000),
    ):
        assert durations.wait(text, NOW) == seconds


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_gos_durations_are_read(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    text = f"{hours}h{minutes}m{seconds}.{milliseconds:03}s"
    assert durations.span(text) == pytest.approx(hours * 3600 + minutes * 60 + seconds + milliseconds / 1000)


@given(st.text(max_size=40) | st.text("0123456789.:-+TZhms, ", max_size=40) | st.integers() | st.floats() | st.binary())
def test_nothing_makes_it_raise_and_no_wait_is_negative(value: Any) -> None:
    for found in (durations.number(value), durations.span(value), durations.wait(value, NOW)):
        assert found is None or (found >= 0 and math.isfinite(found))


def test_a_number_may_have_any_white_space_around_it() -> None:
    assert durations.number(" 5\x1f") == 5
