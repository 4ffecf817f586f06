"""Accounts' numbers in the shared file: exact across workers, because an account's lock is held to change them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from evenkeel_mock.quotas.reasons import Reason, Rejection
from evenkeel_mock.quotas.windows import UNUSED, admit, current, settle, words
from evenkeel_mock.shared.shared_file import NO_SLOT

if TYPE_CHECKING:
    from evenkeel_mock.quotas.limits import AccountLimits
    from evenkeel_mock.quotas.windows import State
    from evenkeel_mock.shared.shared_file import Board


class Ticket(NamedTuple):
    """A request that was let in, to be handed back when it has ended."""

    slot: int
    limits: AccountLimits
    admitted_ns: int
    estimated: int
    state: State


class Quota:
    """Admission and settlement of requests by one worker."""

    def __init__(self, board: Board, worker: int) -> None:
        self._board = board
        self._worker = worker
        self._columns: dict[int, memoryview] = {}

    def admit(self, slot: int, limits: AccountLimits, tokens: int) -> tuple[Rejection | None, Ticket]:
        """Admit a request, or return its rejection."""
        column = self._column(slot)
        if slot == NO_SLOT and not limits.is_unlimited:
            # The table of accounts is full. An uncounted request would be worse than a rejected one.
            return Rejection(Reason.OVERLOADED), Ticket(slot, limits, 0, tokens, ())
        if limits.is_unlimited:
            column[self._worker] += 1
            return None, Ticket(slot, limits, 0, tokens, ())
        numbers, count = self._board.account(slot), words(limits)
        with self._board.locked(slot + 1):
            now = time.time_ns()
            rejection, state = admit(numbers[:count].tolist(), limits, now, tokens, sum(column))
            if rejection is None:
                _put(numbers, state)
                column[self._worker] += 1
        return rejection, Ticket(slot, limits, now, tokens, state)

    def look(self, slot: int, limits: AccountLimits) -> State:
        """Return the usage of an account."""
        if limits.is_unlimited or slot == NO_SLOT:
            return UNUSED
        return current(self._board.account(slot)[: words(limits)].tolist(), limits)

    def end(self, ticket: Ticket, actual: int) -> None:
        """Take back a request that has ended, and correct the estimate of its tokens."""
        slot, limits, admitted_ns, estimated, _ = ticket
        self._column(slot)[self._worker] -= 1
        if limits.is_unlimited or estimated == actual:
            return
        numbers, count = self._board.account(slot), words(limits)
        with self._board.locked(slot + 1):
            _put(numbers, settle(numbers[:count].tolist(), limits, admitted_ns, estimated, actual))

    def _column(self, slot: int) -> memoryview:
        column = self._columns.get(slot)
        if column is None:
            # Keys beyond the table's room share the last slot, which is limited by nothing.
            column = self._columns[slot] = self._board.in_flight(
                self._board.layout.accounts if slot == NO_SLOT else slot
            )
        return column


def _put(numbers: memoryview, state: State) -> None:
    for at, number in enumerate(state):
        numbers[at] = number
