"""The admin API below `/_mock`: what the mock is, what came in, and changing its mind while it runs.

GET  /_mock/health              {"ok": true}
GET  /_mock/state               configuration, accounts, requests, tokens
GET  /_mock/accounts            each account's use, in flight, balance
GET  /_mock/journal             one line of JSON for each request; ?last=N for the newest
GET  /_mock/journal/summary     counts by account, endpoint and status, and what the ring has lost
GET  /_mock/metrics             for Prometheus
POST /_mock/seed                {"seed": 7}
POST /_mock/faults              a timeline, whose seconds count from now
POST /_mock/latency, /_mock/accounts, /_mock/answers    as in the settings file
POST /_mock/reset               forget what came in and what accounts have used; the timeline begins anew
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson

from evenkeel_mock import config, journal, metrics, tally
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.windows import balance_nano, uses, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_mock.board import Board
    from evenkeel_mock.connection import Exchange

JSON = b"content-type: application/json\r\n"
LINES = b"content-type: application/x-ndjson\r\n"
PLAIN = b"content-type: text/plain; version=0.0.4\r\n"
PREFIX = "/_mock/"
NANO = 1_000_000_000
CHANGEABLE = ("seed", "faults", "latency", "accounts", "answers", "prompt_cache", "models")


class Admin:
    """The admin API, as any worker serves it for all."""

    def __init__(self, board: Board) -> None:
        self._board = board
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
        elif name == "journal":
            self._journal(exchange)
        elif name == "metrics":
            exchange.respond(200, PLAIN, metrics.exposition(self._board).encode())
        elif name in self._pages:
            exchange.respond(200, JSON, orjson.dumps(self._pages[name]()))
        else:
            there = ", ".join(sorted((*self._pages, "journal", "metrics")))
            refuse(exchange, 404, f"There is no {exchange.path}.", f"There are: {there}.")

    def _change(self, name: str, exchange: Exchange) -> None:
        settings, started = config.load(self._board.read_config())
        try:
            if name == "reset":
                self._board.wipe()
            elif name in CHANGEABLE:
                settings = self._changed(settings, name, exchange.body)
            else:
                refuse(exchange, 404, f"There is no {PREFIX}{name}.", f"There are: {', '.join(CHANGEABLE)}, reset.")
                return
            if name in {"faults", "reset"}:
                started = time.time_ns()
            config.parse(settings, started)
            self._board.write_config(config.dump(settings, started))
        except MockConfigError as error:
            refuse(exchange, 400, error.what, error.cure)
            return
        exchange.respond(200, JSON, orjson.dumps({"ok": True, "started_ns": started}))

    def _changed(self, settings: dict[str, Any], name: str, body: bytes) -> dict[str, Any]:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise MockConfigError(f"The body is not JSON: {error}.", cure=f"Send the value of `{name}`.") from error
        if isinstance(value, dict) and set(value) <= {name, "others"} and name in value:
            return settings | value
        return settings | {name: value}

    def _state(self) -> dict[str, Any]:
        settings, started = config.load(self._board.read_config())
        hidden = {name: value for name, value in settings.items() if name != "accounts"}
        answered = [
            {"endpoint": endpoint, "status": status, "count": count}
            for endpoint, status, count in tally.requests(self._board)
        ]
        return {
            "settings": hidden,
            "started_ns": started,
            "seconds": (time.time_ns() - started) / NANO,
            "workers": self._board.layout.workers,
            "requests": answered,
            "tokens": tally.tokens(self._board),
            "accounts": self._accounts(),
        }

    def _accounts(self) -> list[dict[str, Any]]:
        """Return what each account has used; keys are told by name, never as they are."""
        found = config.parse(*config.load(self._board.read_config()))
        listed = {account.name: account.limits for account in found.accounts.listed.values()}
        now = time.time_ns()
        result = []
        for slot in range(self._board.used_slots()):
            name = self._board.name(slot)
            limits = listed.get(name, found.accounts.others)
            entry: dict[str, Any] = {"account": name, "in_flight": sum(self._board.in_flight(slot))}
            if limits is not None and not limits.is_unlimited:
                state = tuple(self._board.account(slot)[: words(limits)])
                entry["windows"] = [
                    {"name": use.window.name, "limit": use.window.limit, "used": use.used, "ends_ns": use.ends_ns}
                    for use in uses(state, limits, now)
                ]
                left = balance_nano(state, limits)
                entry |= {} if left is None else {"balance": left / NANO}
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
        try:
            last = int(parse_qs(exchange.query).get("last", ["0"])[0])
        except ValueError:
            refuse(exchange, 400, "last is not a number.", "Such as ?last=100.")
            return
        exchange.respond(200, LINES, b"".join(list(journal.ndjson(self._board))[-last:]))


def refuse(exchange: Exchange, status: int, what: str, cure: str) -> None:
    """Say what is wrong with an admin request."""
    exchange.respond(status, JSON, orjson.dumps({"error": what, "cure": cure}))
