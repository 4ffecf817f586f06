from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.faults import Entry, Fault, Kind, active, parse_entry, parse_header, parse_timeline, strikes
from evenkeel_mock.parsing.durations import NS

DOWN = Fault(Kind.STATUS, status=503)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("status=429", Fault(Kind.STATUS, status=429)),
        ("status=429, retry_after=2.5", Fault(Kind.STATUS, status=429, retry_after_ns=5 * NS // 2)),
        ("p=0.5,status=503", Fault(Kind.STATUS, status=503, p=0.5)),
        ("hang", Fault(Kind.HANG, seconds=math.inf)),
        ("hang=5", Fault(Kind.HANG, seconds=5)),
        ("hang=350ms", Fault(Kind.HANG, seconds=0.35)),
        ("reset=3", Fault(Kind.RESET, chunks=3)),
        ("reset", Fault(Kind.RESET)),
        ("half_event=2", Fault(Kind.HALF_EVENT, chunks=2)),
        ("error_event=2", Fault(Kind.ERROR_EVENT, chunks=2)),
        ("stall", Fault(Kind.STALL)),
        ("slow=3", Fault(Kind.SLOW, factor=3)),
        ("slow=1,add_ms=500", Fault(Kind.SLOW, factor=1, seconds=0.5)),
        ("malformed", Fault(Kind.MALFORMED)),
        ("malformed=2,p=0.1", Fault(Kind.MALFORMED, chunks=2, p=0.1)),
    ],
)
def test_a_header_is_read(written: str, meant: Fault) -> None:
    assert parse_header(written) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "no fault"),
        ("sttus=429", "status"),
        ("status", "wants a number"),
        ("slow", "wants a number"),
        ("status=200", "from 400 to 599"),
        ("status=abc", "not a number"),
        ("status=429,status=500", "twice"),
        ("status=429,hang", "has 2"),
        ("p=0.5", "has 0"),
        ("status=429,p=2", "from 0 to 1"),
        ("hang,retry_after=3", "no option of hang"),
        ("hang=soon", "not a span"),
        ("reset=-1", "from 0 to"),
        ("reset=1.5", "whole"),
    ],
)
def test_a_header_that_cannot_be_is_refused(written: str, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse_header(written)
    assert told in str(refused.value)
    assert "x-mock-fault" in refused.value.what


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"at": 12, "for": 8, "account": "b", "status": 503}, Entry(DOWN, 12, 20, "b")),
        ({"at": "12s", "for": "8s", "account": "b", "fault": "status=503"}, Entry(DOWN, 12, 20, "b")),
        ({"status": 503}, Entry(DOWN)),
        ({"hang": None, "model": "m"}, Entry(Fault(Kind.HANG, seconds=math.inf), model="m")),
        ({"hang": True}, Entry(Fault(Kind.HANG, seconds=math.inf))),
        ({"slow": 2, "add_ms": 100, "p": 0.5}, Entry(Fault(Kind.SLOW, factor=2, seconds=0.1, p=0.5))),
    ],
)
def test_an_entry_is_read(written: object, meant: Entry) -> None:
    assert parse_entry(written) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"at": 3}, "has 0"),
        ({"at": 3, "fro": 4, "hang": None}, "for"),
        ({"fault": "hang", "p": 0.5}, "belongs into"),
        ({"fault": "hang,p=x"}, "not a number"),
        ({"for": "long", "hang": None}, "not a span"),
        ({"account": 3, "hang": None}, "not a text"),
        ("hang", "expected a mapping"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(written: object, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse_timeline([{"hang": None}, written])
    assert told in str(refused.value)
    assert refused.value.what.startswith("faults[1]")


def test_a_timeline_is_a_list() -> None:
    assert parse_timeline(None) == parse_timeline([]) == ()
    with pytest.raises(MockConfigError, match="not a list"):
        parse_timeline({"at": 3, "hang": None})


def test_a_fault_strikes_its_account_and_model_while_it_lasts() -> None:
    timeline = (Entry(DOWN, 12, 20, "b", "m"),)
    assert active(timeline, 12, "b", "m") == DOWN
    assert active(timeline, 19.999, "b", "m") == DOWN
    for now, account, model in ((11.999, "b", "m"), (20, "b", "m"), (15, "a", "m"), (15, "b", "other")):
        assert active(timeline, now, account, model) is None
    assert active((), 15, "b", "m") is None


def test_the_first_that_strikes_is_taken() -> None:
    never, hang = Fault(Kind.STATUS, status=500, p=0), Fault(Kind.HANG)
    timeline = (Entry(never), Entry(DOWN, 5, 9), Entry(hang))
    assert active(timeline, 5, "a", "m") == DOWN
    assert active(timeline, 9, "a", "m") == hang


@given(st.integers(0, 2**32), st.binary(max_size=20), st.text(max_size=5))
def test_who_is_struck_is_a_function_of_seed_and_key(seed: int, key: bytes, account: str) -> None:
    fault = Fault(Kind.STATUS, status=500, p=0.5)
    timeline = (Entry(fault), Entry(DOWN))
    found = active(timeline, 1, account, "m", seed=seed, key=key)
    assert found == active(timeline, 2, account, "m", seed=seed, key=key)
    assert (found == fault) == strikes(fault, seed, key, account)


def test_a_chance_is_kept_and_each_account_has_its_own() -> None:
    fault = Fault(Kind.STATUS, status=500, p=0.1)
    struck = {account: [strikes(fault, 1, b"%d" % n, account) for n in range(20_000)] for account in ("a", "b")}
    for hits in struck.values():
        assert sum(hits) / len(hits) == pytest.approx(0.1, abs=0.01)
    both = sum(one and other for one, other in zip(struck["a"], struck["b"], strict=True))
    assert both / 20_000 == pytest.approx(0.01, abs=0.003)


@given(st.text(alphabet="statusfehngrz_lowmd=,0123456789.p ", max_size=30))
def test_no_header_is_worse_than_refused(written: str) -> None:
    with contextlib.suppress(MockConfigError):
        assert parse_header(written).kind in Kind
