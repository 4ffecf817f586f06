from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing.durations import MS, NS, ceil_milliseconds, ceil_seconds, rfc3339, seconds, span


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, 5),
        (0.5, 0.5),
        ("5", 5),
        ("350ms", 0.35),
        ("5h", 18_000),
        ("1h30m", 5400),
        ("7d", 604_800),
        ("1m 2.5s", 62.5),
    ],
)
def test_spans_are_read(written: object, meant: float) -> None:
    assert seconds(written, "for") == pytest.approx(meant)


@pytest.mark.parametrize("written", ["", "5 hours", "h", "-5s", -1, None, True, "1h x", [], float("inf")])
def test_what_is_no_span_is_refused(written: object) -> None:
    with pytest.raises(MockConfigError, match="for"):
        seconds(written, "for")


@pytest.mark.parametrize(
    ("ns", "spelled"),
    [
        (0, "0s"),
        (-5, "0s"),
        (1, "1ms"),
        (350 * MS, "350ms"),
        (999 * MS + 1, "1s"),
        (20 * NS, "20s"),
        (2500 * MS, "2.5s"),
        (62_500 * MS, "1m2.5s"),
        (360 * NS, "6m0s"),
        (3_723_004 * MS, "1h2m3.004s"),
        (604_800 * NS, "168h0m0s"),
    ],
)
def test_spans_are_spelled_as_openai_does(ns: int, spelled: str) -> None:
    assert span(ns) == spelled


@given(st.integers(0, 10**16))
def test_a_span_is_never_told_too_short_nor_a_millisecond_too_long(ns: int) -> None:
    parts = re.findall(r"([\d.]+)(ms|h|m|s)", span(ns))
    told = sum(float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit] for number, unit in parts)
    assert ns <= round(told * 1000) * MS < ns + MS


@given(st.integers(0, 4 * 10**18))
def test_a_point_of_time_is_never_told_too_early(ns: int) -> None:
    told = datetime.fromisoformat(rfc3339(ns)).timestamp() * NS
    assert ns <= told < ns + NS
    assert ns <= ceil_seconds(ns) * NS < ns + NS
    assert ns <= ceil_milliseconds(ns) * MS < ns + MS


def test_a_point_of_time_is_rfc_3339() -> None:
    assert rfc3339(1_777_936_567 * NS + 1) == "2026-05-04T23:16:08Z"
