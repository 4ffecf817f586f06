"""Limits of accounts, and the settings that define them.

accounts:
  - name: a
    key: sk-a                 # the API key; the name, if left out
    rpm: 500                  # requests and tokens of a minute
    tpm: 30000
    concurrency: 8            # requests in flight
    windows:                  # quotas of subscriptions
      - {name: 5h, for: 5h, requests: 200}
      - {name: weekly, for: 7d, tokens: 2000000}
    daily: {requests: 1000}   # a quota of 24 hours; a bare number counts requests
    balance: 5.00             # prepaid dollars, and the price of a million tokens
    price: 0.60
    expires: 90s              # after the mock's start; or a point of time: 2030-01-01T00:00:00Z
    revoked: 403              # true stands for 401
    models: [gpt-4o, claude-*]
others: refuse                # or `allow`, or limits as above for each key that is not listed

Every limit is optional, and what is not limited is free. If no account is listed, every key is an account of its own;
once one is, keys that are not are refused, unless `others` says otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import Any, NamedTuple

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import durations, fields
from evenkeel_mock.parsing.durations import DAY, MINUTE, NS
from evenkeel_mock.quotas.reasons import Reason, Rejection

NANO = 1_000_000_000
PER_MILLION = 1_000_000
MAX_WINDOWS = 16
MOST_NAME_BYTES = 48
REVOKED_STATUSES = (401, 403)
RPM, TPM, DAILY = "rpm", "tpm", "daily"
COUNTED = ("requests", "tokens")
LIMITS = ("rpm", "tpm", "concurrency", "windows", "daily", "balance", "price", "expires", "revoked", "models")
# So that a sum of dollars in billionths stays far from what 64 bits hold.
MOST_DOLLARS = 1_000_000_000


class Window(NamedTuple):
    """At most `limit` requests, or tokens, in `length_ns` from the first request in it."""

    name: str
    length_ns: int
    limit: int
    counts_tokens: bool = False

    @property
    def is_quota(self) -> bool:
        """Whether it is a quota, rather than a rate."""
        return self.name not in {RPM, TPM}


@dataclass(frozen=True)
class AccountLimits:
    """Limits of one account. By default, nothing is limited."""

    windows: tuple[Window, ...] = ()
    concurrency: int | None = None
    balance_nano: int | None = None
    """Prepaid billionths of a dollar; None for an account that is billed later."""
    price_nano: int = 0
    """Billionths of a dollar for each token."""
    expires_ns: int | None = None
    revoked: int = 0
    """The status of a revoked account; 0 for one that is not."""
    models: tuple[str, ...] = ()
    """Names, or beginnings of names with a star; none for all models."""

    @cached_property
    def is_unlimited(self) -> bool:
        """Whether no request needs the account's state: nothing is counted."""
        return not self.windows and self.concurrency is None and self.balance_nano is None

    @cached_property
    def shape(self) -> int:
        """A number that tells which windows the counters of a state belong to, whatever their limits; never 0."""
        text = repr([(window.name, window.length_ns, window.counts_tokens) for window in self.windows])
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little") | 1

    @cached_property
    def restricts_access(self) -> bool:
        """Whether `access_rejection` can return a rejection."""
        return bool(self.revoked or self.expires_ns is not None or self.models)

    def access_rejection(self, model: str, now_ns: int) -> Rejection | None:
        """Return the rejection if the account may not use `model` at `now_ns`, whatever its usage; else `None`."""
        if not self.restricts_access:
            return None
        if self.revoked:
            return Rejection(Reason.REVOKED, status=self.revoked)
        if self.expires_ns is not None and now_ns >= self.expires_ns:
            return Rejection(Reason.EXPIRED)
        if self.models and not self.allows(model):
            return Rejection(Reason.MODEL)
        return None

    def allows(self, model: str) -> bool:
        """Return whether the account may use that model."""
        return not self.models or any(
            model.startswith(allowed[:-1]) if allowed.endswith("*") else model == allowed for allowed in self.models
        )


UNLIMITED = AccountLimits()


@dataclass(frozen=True)
class Account:
    """A name for the journal and the metrics, and what goes with it. The key itself appears in neither."""

    name: str
    limits: AccountLimits = UNLIMITED


@dataclass(frozen=True)
class Accounts:
    """Accounts by API key."""

    listed: Mapping[str, Account] = field(default_factory=dict)
    """By key."""
    others: AccountLimits | None = UNLIMITED
    """Limits of each key that is not listed; `None` if such keys are rejected."""

    def of(self, key: str) -> Account | None:
        """Return the account of an API key, None if there is none."""
        account = self.listed.get(key)
        if account is None and self.others is not None:
            digest = hashlib.blake2b(key.encode(), digest_size=4).hexdigest()
            return Account(f"key-{digest}", self.others)
        return account


def parse_accounts(value: object, started_ns: int) -> Accounts:
    """Parse `accounts` and `others`. Times of expiry are relative to `started_ns` (Unix time)."""
    given = fields.mapping(value, ("accounts", "others"), "accounts file")
    items = given.get("accounts") or []
    if not isinstance(items, list):
        raise MockConfigError("accounts: is not a list.", hint="Begin each account with `- name: ...`.")
    listed: dict[str, Account] = {}
    names: set[str] = set()
    for number, item in enumerate(items):
        where = f"accounts[{number}]"
        item = fields.mapping(item, ("name", "key", *LIMITS), where)  # noqa: PLW2901  # the same, checked
        name = fields.text(item.get("name"), f"{where}: name")
        if len(name.encode()) > MOST_NAME_BYTES:
            raise MockConfigError(f"{where}: {name!r} is too long.", hint=f"{MOST_NAME_BYTES} bytes are enough.")
        key = fields.text(item.get("key", name), f"{where}: key")
        if key in listed or name in names:
            raise MockConfigError(f"{where}: {name!r} is there twice, or its key is.", hint="Give each its own.")
        limits = {setting: value for setting, value in item.items() if setting in LIMITS}
        listed[key] = Account(name, parse_limits(limits, f"account {name}", started_ns))
        names.add(name)
    return Accounts(listed, _others(given.get("others"), bool(listed), started_ns))


def parse_limits(value: object, where: str, started_ns: int) -> AccountLimits:
    """Read the limits of one account."""
    given = {key: item for key, item in fields.mapping(value, LIMITS, where).items() if item is not None}
    windows = _windows(given, where)
    names = {(window.name, window.counts_tokens) for window in windows}
    if len(windows) > MAX_WINDOWS or len(names) < len(windows):
        raise MockConfigError(
            f"{where}: more than {MAX_WINDOWS} windows, or two of one name.", hint="Leave some out, rename others."
        )
    balance, price = given.get("balance"), given.get("price")
    if (balance is None) != (price is None):
        raise MockConfigError(
            f"{where}: balance and price need each other.", hint="Say how many dollars a million tokens cost."
        )
    return AccountLimits(
        windows=windows,
        concurrency=fields.integer(given["concurrency"], f"{where}: concurrency") if "concurrency" in given else None,
        balance_nano=None if balance is None else _nano(balance, 1, f"{where}: balance"),
        price_nano=0 if price is None else _nano(price, PER_MILLION, f"{where}: price"),
        expires_ns=_expiry(given["expires"], f"{where}: expires", started_ns) if "expires" in given else None,
        revoked=_revoked(given.get("revoked", False), where),
        models=_models(given.get("models", []), f"{where}: models"),
    )


def _others(value: object, any_listed: bool, started_ns: int) -> AccountLimits | None:  # noqa: FBT001  # private
    if value == "refuse" or (value is None and any_listed):
        return None
    if value is None or value == "allow":
        return UNLIMITED
    if isinstance(value, str):
        raise MockConfigError(f"others: cannot be {value!r}.", hint=fields.nearest(value, ("refuse", "allow")))
    return parse_limits(value, "others", started_ns)


def _windows(given: Mapping[str, Any], where: str) -> tuple[Window, ...]:
    windows = []
    if RPM in given:
        windows.append(Window(RPM, MINUTE * NS, fields.integer(given[RPM], f"{where}: rpm")))
    if TPM in given:
        windows.append(Window(TPM, MINUTE * NS, fields.integer(given[TPM], f"{where}: tpm"), counts_tokens=True))
    items = given.get("windows", [])
    if not isinstance(items, list):
        raise MockConfigError(f"{where}: windows: is not a list.", hint="Such as [{name: 5h, for: 5h, requests: 200}].")
    for number, item in enumerate(items):
        setting_path = f"{where}: windows[{number}]"
        item = fields.mapping(item, ("name", "for", *COUNTED), setting_path)  # noqa: PLW2901  # the same, checked
        length = durations.seconds(item.get("for"), f"{setting_path}: for")
        name = fields.text(item.get("name", str(item.get("for"))), f"{setting_path}: name")
        if name in {RPM, TPM, DAILY} or length < 1:
            raise MockConfigError(
                f"{setting_path}: is named {name}, or shorter than a second.", hint="Use rpm, tpm and daily for those."
            )
        windows += _counted(item, name, round(length * NS), setting_path)
    if DAILY in given:
        daily = given[DAILY] if isinstance(given[DAILY], Mapping) else {"requests": given[DAILY]}
        daily = fields.mapping(daily, COUNTED, f"{where}: daily")
        windows += _counted(daily, DAILY, DAY * NS, f"{where}: daily")
    return tuple(windows)


def _counted(item: Mapping[str, Any], name: str, length_ns: int, setting_path: str) -> list[Window]:
    windows = [
        Window(
            name,
            length_ns,
            fields.integer(item[counted], f"{setting_path}: {counted}"),
            counts_tokens=counted == "tokens",
        )
        for counted in COUNTED
        if item.get(counted) is not None
    ]
    if not windows:
        raise MockConfigError(f"{setting_path}: limits nothing.", hint="Say how many `requests` or `tokens`.")
    return windows


def _nano(dollars: object, units: int, where: str) -> int:
    amount = fields.number(dollars, where, most=MOST_DOLLARS)
    nano = round(amount * NANO / units)
    if amount and not nano:
        raise MockConfigError(f"{where}: {dollars} is too little to count.", hint="The least price is 0.001 dollars.")
    return nano


def _expiry(value: object, where: str, started_ns: int) -> int:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, str):
        # What is no point of time is a span; if it is neither, the span's error says so.
        with contextlib.suppress(ValueError):
            value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime):
        # YAML drops the Z of what it recognises as a time: without a zone it is UTC.
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1_000_000) * 1000
    try:
        return started_ns + round(durations.seconds(value, where) * NS)
    except MockConfigError as error:
        raise MockConfigError(
            f"{where}: {value!r} is neither a time nor a span.", hint="Such as 2030-01-01T00:00:00Z, or 90s."
        ) from error


def _revoked(value: object, where: str) -> int:
    if value is False:
        return 0
    status = REVOKED_STATUSES[0] if value is True else value
    if status not in REVOKED_STATUSES:
        raise MockConfigError(f"{where}: revoked: cannot be {value!r}.", hint="It is true, false, 401 or 403.")
    return fields.integer(status, where)


def _models(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise MockConfigError(f"{where}: is not a list.", hint="Such as [gpt-4o, claude-*].")
    return tuple(fields.text(model, where) for model in value)
