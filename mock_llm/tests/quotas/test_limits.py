from __future__ import annotations

from typing import Any

import pytest
import yaml

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing.durations import DAY, HOUR, MINUTE, NS
from evenkeel_mock.quotas.limits import (
    UNLIMITED,
    Account,
    AccountLimits,
    Accounts,
    Window,
    parse_accounts,
    parse_limits,
)
from evenkeel_mock.quotas.reasons import Reason

START = 1_800_000_000 * NS
EXAMPLE = """
accounts:
  - name: a
    key: sk-a
    rpm: 500
    tpm: 30000
    concurrency: 8
    windows:
      - {name: 5h, for: 5h, requests: 200}
      - {for: 7d, tokens: 2000000, requests: 9}
    daily: {requests: 1000}
    balance: 5.00
    price: 0.60
    expires: 90s
    revoked: 403
    models: [gpt-4o, claude-*]
  - name: b
others:
  daily: 10
"""


def limits(**given: Any) -> AccountLimits:
    return parse_limits(given, "account x", START)


def test_all_that_can_be_written() -> None:
    accounts = parse_accounts(yaml.safe_load(EXAMPLE), START)
    assert accounts.listed == {
        "sk-a": Account(
            "a",
            AccountLimits(
                windows=(
                    Window("rpm", MINUTE * NS, 500),
                    Window("tpm", MINUTE * NS, 30_000, counts_tokens=True),
                    Window("5h", 5 * HOUR * NS, 200),
                    Window("7d", 7 * DAY * NS, 9),
                    Window("7d", 7 * DAY * NS, 2_000_000, counts_tokens=True),
                    Window("daily", DAY * NS, 1000),
                ),
                concurrency=8,
                balance_nano=5_000_000_000,
                price_nano=600,
                expires_ns=START + 90 * NS,
                revoked=403,
                models=("gpt-4o", "claude-*"),
            ),
        ),
        "b": Account("b", UNLIMITED),
    }
    assert accounts.others == AccountLimits(windows=(Window("daily", DAY * NS, 10),))


def test_any_key_is_an_account_unless_some_are_listed() -> None:
    anyone = parse_accounts({}, START)
    assert anyone == Accounts()
    account = anyone.of("sk-anything-secret")
    assert account is not None
    assert account.limits is UNLIMITED
    assert "secret" not in account.name
    assert account == anyone.of("sk-anything-secret") != anyone.of("sk-else")
    listed = parse_accounts({"accounts": [{"name": "a"}]}, START)
    assert listed.of("a") == Account("a")
    assert listed.of("b") is None
    both = parse_accounts({"accounts": [{"name": "a"}], "others": "allow"}, START)
    assert both.of("b") is not None
    assert parse_accounts({"others": "refuse"}, START).of("b") is None


@pytest.mark.parametrize(
    "written",
    [
        "2030-01-01T00:00:00Z",
        "2030-01-01T01:00:00+01:00",
        "2030-01-01 00:00:00",
        "2030-01-01",
        "'2030-01-01T00:00:00Z'",
    ],
)
def test_a_point_of_time_to_expire_at(written: str) -> None:
    assert limits(**yaml.safe_load(f"expires: {written}")).expires_ns == 1_893_456_000 * NS


@pytest.mark.parametrize(("written", "after"), [(90, 90), ("90s", 90), ("1h30m", 5400), (0, 0)])
def test_a_span_to_expire_after(written: object, after: int) -> None:
    assert limits(expires=written).expires_ns == START + after * NS


def test_an_account_expires_to_the_nanosecond() -> None:
    expiring = limits(expires=90)
    assert expiring.access_rejection("m", START + 90 * NS - 1) is None
    rejection = expiring.access_rejection("m", START + 90 * NS)
    assert rejection is not None
    assert rejection.reason is Reason.EXPIRED


@pytest.mark.parametrize(("written", "status"), [(True, 401), (401, 401), (403, 403)])
def test_a_revoked_account_is_barred(written: object, status: int) -> None:
    rejection = limits(revoked=written, models=["m"]).access_rejection("other", START)
    assert rejection is not None
    assert (rejection.reason, rejection.status) == (Reason.REVOKED, status)
    assert limits(revoked=False).access_rejection("m", START) is None


def test_models_are_names_or_beginnings() -> None:
    some = limits(models=["gpt-4o", "claude-*"])
    assert [some.allows(model) for model in ("gpt-4o", "gpt-4o-mini", "claude-x", "o3")] == [True, False, True, False]
    rejection = some.access_rejection("o3", START)
    assert rejection is not None
    assert rejection.reason is Reason.MODEL
    assert UNLIMITED.allows("anything")


@pytest.mark.parametrize(
    ("given", "unlimited"),
    [
        ({}, True),
        ({"expires": 5, "revoked": True, "models": ["m"]}, True),
        ({"rpm": 5}, False),
        ({"concurrency": 5}, False),
        ({"balance": 5, "price": 1}, False),
        ({"rpm": None, "expires": None}, True),
    ],
)
def test_what_is_counted_needs_a_state(given: dict[str, object], *, unlimited: bool) -> None:
    assert limits(**given).is_unlimited == unlimited


def test_shapes_tell_windows_apart_but_not_their_limits() -> None:
    assert limits(rpm=5).shape == limits(rpm=6).shape
    assert len({limits(rpm=5).shape, limits(tpm=5).shape, limits(daily=5).shape, limits(rpm=5, tpm=5).shape}) == 4
    assert 0 < limits(rpm=5).shape < 2**63


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"rpn": 5}, "rpm"),
        ({"rpm": 0}, "at least 1"),
        ({"rpm": 1.5}, "whole"),
        ({"rpm": True}, "not a number"),
        ({"rpm": "many"}, "not a number"),
        ({"concurrency": -1}, "concurrency"),
        ({"windows": {}}, "not a list"),
        ({"windows": [{"requests": 5}]}, "windows[0]: for"),
        ({"windows": [{"for": "5h"}]}, "limits nothing"),
        ({"windows": [{"for": "5 hours", "requests": 5}]}, "not a span"),
        ({"windows": [{"for": "5h", "request": 5}]}, "requests"),
        ({"windows": [{"for": "5h", "name": "rpm", "requests": 5}]}, "daily"),
        ({"windows": [{"for": "350ms", "requests": 5}]}, "shorter"),
        ({"windows": [{"for": "5h", "requests": 5}, {"for": "5h", "requests": 6}]}, "two of one name"),
        ({"windows": [{"for": f"{n}h", "requests": 5} for n in range(1, 18)]}, "16"),
        ({"daily": {}}, "limits nothing"),
        ({"balance": 5}, "price"),
        ({"price": 5}, "balance"),
        ({"balance": 5, "price": 0.0001}, "too little"),
        ({"balance": 1e12, "price": 1}, "range"),
        ({"expires": "tomorrow"}, "neither"),
        ({"revoked": 404}, "401 or 403"),
        ({"revoked": "yes"}, "401 or 403"),
        ({"models": "gpt-4o"}, "not a list"),
        ({"models": [4]}, "not a text"),
        ([], "expected a mapping"),
    ],
)
def test_limits_that_cannot_be_are_refused(written: object, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse_limits(written, "account x", START)
    assert told in str(refused.value)
    assert "account x" in refused.value.what


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"acounts": []}, "accounts"),
        ({"accounts": {"a": {}}}, "- name"),
        ({"accounts": [{"key": "sk"}]}, "accounts[0]: name"),
        ({"accounts": [{"name": "a"}, {"name": "a", "key": "k"}]}, "twice"),
        ({"accounts": [{"name": "a", "key": "k"}, {"name": "b", "key": "k"}]}, "its key"),
        ({"accounts": [{"name": "a", "rpn": 3}]}, "rpm"),
        ({"others": "refused"}, "refuse"),
        ({"others": 5}, "expected a mapping"),
        ("accounts", "expected a mapping"),
    ],
)
def test_accounts_that_cannot_be_are_refused(written: object, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse_accounts(written, START)
    assert told in str(refused.value)
