"""Admin API below `/_mock`: state, journal, and changes of settings at runtime.

GET  /_mock/health              {"ok": true}
GET  /_mock/state               configuration, accounts, requests, tokens
GET  /_mock/accounts            each account's use, in flight, balance
GET  /_mock/journal             one line of JSON for each request; ?last=N for the newest
GET  /_mock/journal/summary     counts by account, endpoint and status, and what the ring has lost
GET  /_mock/metrics             for Prometheus
POST /_mock/seed                {"seed": 7}
POST /_mock/faults              a timeline, whose seconds count from now
POST /_mock/latency, /_mock/accounts, /_mock/answers    as in the settings file
POST /_mock/refill              {"account": "a"}, or "*": its windows are reset early, without an announcement
POST /_mock/reset               forget what came in and what accounts have used; the timeline begins anew
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson

from evenkeel_mock.config import StoredSettings
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.faults import ANY
from evenkeel_mock.parsing import fields
from evenkeel_mock.parsing.durations import NS
from evenkeel_mock.quotas.windows import FIRST, balance_nano, uses, words
from evenkeel_mock.server.connection import JSON
from evenkeel_mock.shared import counters, journal, metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_mock.server.connection import Exchange
    from evenkeel_mock.shared.shared_file import Board
    from evenkeel_mock.timing.empirical_files import EmpiricalFiles

LINES = b"content-type: application/x-ndjson\r\n"
PLAIN = b"content-type: text/plain; version=0.0.4\r\n"
PREFIX = "/_mock/"
NANO_DOLLARS = 1_000_000_000
CHANGEABLE = ("seed", "faults", "latency", "accounts", "answers", "prompt_cache", "models")


class Admin:
    """Handler of the admin API. Every worker serves it on behalf of all."""

    def __init__(self, board: Board, files: EmpiricalFiles) -> None:
        self._board = board
        self._files = files
        self._pages: dict[str, Callable[[], object]] = {
            "health": lambda: {"ok": True},
            "state": self._state,
            "accounts": self._accounts,
            "journal/summary": self._summary,
        }

    def serve(self, exchange: Exchange) -> None:
        """Serve one request."""
        name = exchange.path.removeprefix(PREFIX)
        if exchange.method == b"POST":
            self._change(name, exchange)
        elif exchange.method not in {b"GET", b"HEAD"}:
            refuse(exchange, 405, f"{exchange.method.decode()} is not understood.", "There are GET and POST.")
        elif name == "journal":
            self._journal(exchange)
        elif name == "metrics":
            exchange.respond(200, PLAIN, metrics.exposition(self._board).encode())
        elif name in self._pages:
            exchange.respond(200, JSON, orjson.dumps(self._pages[name]()))
        else:
            names = ", ".join(sorted((*self._pages, "journal", "metrics")))
            refuse(exchange, 404, f"There is no {exchange.path}.", f"There are: {names}.")

    def _change(self, name: str, exchange: Exchange) -> None:
        if name == "refill":
            self._refill(exchange)
            return
        if name not in {*CHANGEABLE, "reset"}:
            refuse(exchange, 404, f"There is no {PREFIX}{name}.", f"There are: {', '.join(CHANGEABLE)}, refill, reset.")
            return
        now = time.time_ns()

        def changed(text: bytes) -> bytes:
            kept = StoredSettings.load(text)
            if name == "reset":
                kept = kept._replace(started_ns=now, timeline_ns=now)
            else:
                kept = kept._replace(settings=_changed(kept.settings, name, exchange.body))
                if name == "faults":
                    kept = kept._replace(timeline_ns=now)
            kept.config(self._files.read)
            return kept.dump()

        try:
            self._board.write_config(changed)
        except MockConfigError as error:
            refuse(exchange, 400, error.what, error.hint)
            return
        if name == "reset":
            self._board.wipe()
        exchange.respond(200, JSON, orjson.dumps({"ok": True, "started_ns": now}))

    def _refill(self, exchange: Exchange) -> None:
        """Reset windows as providers do at their pleasure: earlier than headers and responses have stated."""
        try:
            slots = self._named(exchange.body)
        except MockConfigError as error:
            refuse(exchange, 400, error.what, error.hint)
            return
        for slot in slots:
            self._board.refill(slot, FIRST)
        exchange.respond(200, JSON, orjson.dumps({"ok": True, "refilled": len(slots)}))

    def _named(self, body: bytes) -> list[int]:
        """Return the slots of the account that a body names: none, if it is listed and has not come yet."""
        fields_given = fields.mapping(_read(body, "account"), ("account",), "refill")
        name = fields.text(fields_given.get("account"), "refill: account")
        listed = self._stored_settings().config(self._files.read).accounts.listed.values()
        seen = {slot: self._board.name(slot) for slot in range(self._board.used_slots())}
        fields.known(name, {ANY, *seen.values(), *(account.name for account in listed)}, "account", "refill")
        return [slot for slot, account in seen.items() if name in (ANY, account)]

    def _stored_settings(self) -> StoredSettings:
        return StoredSettings.load(self._board.read_config())

    def _state(self) -> dict[str, Any]:
        kept = self._stored_settings()
        hidden = {name: value for name, value in kept.settings.items() if name != "accounts"}
        answered = [
            {"endpoint": endpoint, "status": status, "count": count}
            for endpoint, status, count in counters.requests(self._board)
        ]
        return {
            "settings": hidden,
            "started_ns": kept.timeline_ns,
            "seconds": (time.time_ns() - kept.timeline_ns) / NS,
            "workers": self._board.layout.workers,
            "requests": answered,
            "tokens": counters.tokens(self._board),
            "accounts": self._accounts(),
        }

    def _accounts(self) -> list[dict[str, Any]]:
        """Return the usage of each account. API keys never appear."""
        config = self._stored_settings().config(self._files.read)
        listed = {account.name: account.limits for account in config.accounts.listed.values()}
        now = time.time_ns()
        result = []
        for slot in range(self._board.used_slots()):
            name = self._board.name(slot)
            limits = listed.get(name, config.accounts.others)
            entry: dict[str, Any] = {"account": name, "in_flight": sum(self._board.in_flight(slot))}
            if limits is not None and not limits.is_unlimited:
                state = tuple(self._board.account(slot)[: words(limits)])
                entry["windows"] = [
                    {"name": use.window.name, "limit": use.window.limit, "used": use.used, "ends_ns": use.ends_ns}
                    for use in uses(state, limits, now)
                ]
                left = balance_nano(state, limits)
                entry |= {} if left is None else {"balance": left / NANO_DOLLARS}
            result.append(entry)
        return result

    def _summary(self) -> dict[str, Any]:
        counts: Counter[tuple[str, str, int]] = Counter()
        kept = 0
        for entry in journal.entries(self._board):
            kept += 1
            name = self._board.name(entry.slot - 1) if entry.slot else ""
            counts[name, entry.endpoint, entry.status] += 1
        written = journal.written(self._board)
        rows = [
            {"account": account, "endpoint": endpoint, "status": status, "count": count}
            for (account, endpoint, status), count in sorted(counts.items())
        ]
        return {"written": written, "kept": kept, "lost": written - kept, "requests": rows}

    def _journal(self, exchange: Exchange) -> None:
        last = parse_qs(exchange.query).get("last", ["0"])[0]
        if not last.isdecimal():
            refuse(exchange, 400, f"last: {last!r} is not a number.", "Such as ?last=100.")
            return
        exchange.respond(200, LINES, b"".join(journal.ndjson(self._board, int(last))))


def _changed(settings: dict[str, Any], name: str, body: bytes) -> dict[str, Any]:
    value = _read(body, name)
    if isinstance(value, dict) and set(value) <= {name, "others"} and name in value:
        return settings | value
    return settings | {name: value}


def _read(body: bytes, name: str) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MockConfigError(f"The body is not JSON: {error}.", hint=f"Send the value of `{name}`.") from error


def refuse(exchange: Exchange, status: int, what: str, hint: str) -> None:
    """Answer an admin request with an error and a hint."""
    exchange.respond(status, JSON, orjson.dumps({"error": what, "hint": hint}))
