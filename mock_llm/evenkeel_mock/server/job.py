"""A request that was understood, and what has been decided about it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evenkeel_mock.faults import Fault
    from evenkeel_mock.quotas.limits import AccountLimits
    from evenkeel_mock.server.connection import Exchange
    from evenkeel_mock.server.endpoints import Family
    from evenkeel_mock.shared.quota import Ticket
    from evenkeel_mock.timing.latency import Plan
    from evenkeel_mock.wire.answer import Request


class Caller(NamedTuple):
    """The account of a request, and its slot in the shared file."""

    name: str
    encoded: bytes
    limits: AccountLimits
    slot: int


class Job:
    """One request on its way through the mock."""

    __slots__ = ("cached", "caller", "exchange", "family", "fault", "key", "plan", "request", "sent_ns", "ticket")

    plan: Plan

    def __init__(self, exchange: Exchange, family: Family, request: Request, caller: Caller, key: bytes) -> None:
        self.exchange = exchange
        self.family = family
        self.request = request
        self.caller = caller
        self.key = key
        """The key from which random draws are derived."""
        self.cached = 0
        """Prompt tokens that were cached."""
        self.sent_ns = 0
        """When its answer began to be sent (Unix time); 0 before."""
        self.fault: Fault | None = None
        self.ticket: Ticket | None = None
        """None before it is let in."""
