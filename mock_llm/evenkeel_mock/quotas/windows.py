"""The arithmetic of quotas: from an account's numbers and limits, may a request start, and what are the numbers then.

A state is a flat tuple of integers, so that another module can keep it in shared memory.

    SHAPE   which windows the numbers after SPENT belong to (`AccountLimits.shape`); 0 in an unused slot
    SPENT   billionths of a dollar, of the prepaid balance
    then for each window: when it was opened (Unix time in ns), and how much of it is used

All windows are of one kind, minutes as well as weeks: a window opens with the first request that is let in while none
is open, lasts its length to the nanosecond, and lets in at most its limit; then all of it is there again at once.
Providers document rates that refill a little at a time. Such a bucket lets in up to twice its limit within a minute,
which no test could tell from a bucket that is wrong. Here no window ever holds one request more than its limit, and a
refused request that comes again when it was told to is let in.

Tokens are reserved by an estimate (prompt and most of the answer) when a request is let in, and settled by what it
really took when it ends. So no window ever holds more tokens than its limit either, if estimates are upper bounds.

Time is an argument, to be read while the account's lock is held: then the windows of all workers agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel_mock.quotas.reasons import Reason, Rejection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_mock.quotas.limits import AccountLimits, Window

State = tuple[int, ...]

SHAPE, SPENT, FIRST = 0, 1, 2
PER_WINDOW = 2
# The end of a request in flight is unknown: an estimate for `retry-after`.
CONCURRENCY_WAIT_NS = 1_000_000_000
NEVER = 2**63
UNUSED: State = (0, 0)


class Use(NamedTuple):
    """Usage of one window at one moment."""

    window: Window
    used: int
    remaining: int
    ends_ns: int
    """When all of it is there again, at the latest; now, if none of it is used."""


def words(limits: AccountLimits) -> int:
    """Return how many integers the state of such an account has."""
    return FIRST + PER_WINDOW * len(limits.windows)


def admit(
    state: Sequence[int], limits: AccountLimits, now_ns: int, tokens: int, in_flight: int = 0
) -> tuple[Rejection | None, State]:
    """Admit a request, or return its rejection. Also return the new state; a rejection leaves it unchanged.

    `tokens` is the estimate to be reserved, `in_flight` how many requests of the account have not ended yet.
    """
    state = current(state, limits)
    if limits.is_unlimited:
        return None, state
    after = list(state)
    if limits.balance_nano is not None:
        spent = after[SPENT] + tokens * limits.price_nano
        if spent > limits.balance_nano or after[SPENT] >= limits.balance_nano:
            return Rejection(Reason.BALANCE, limit=limits.balance_nano, used=after[SPENT], requested=tokens), state
        after[SPENT] = spent
    full_until = 0
    full = -1
    at = FIRST
    for _, length_ns, limit, counts_tokens in limits.windows:
        opened = after[at]
        more = tokens if counts_tokens else 1
        if opened and now_ns < opened + length_ns:
            used = after[at + 1] + more
        else:
            opened = after[at] = now_ns
            used = more
        after[at + 1] = used
        # Of several full windows, the one that ends last says when the request can really come again.
        if used > limit and (ends := NEVER if more > limit else opened + length_ns) > full_until:
            full_until = ends
            full = at
        at += PER_WINDOW
    if full >= 0:
        return _full(state, limits, now_ns, tokens, (full - FIRST) // PER_WINDOW), state
    if limits.concurrency is not None and in_flight >= limits.concurrency:
        wait = CONCURRENCY_WAIT_NS
        return Rejection(
            Reason.CONCURRENCY,
            wait_ns=wait,
            window="concurrency",
            limit=limits.concurrency,
            used=in_flight,
            requested=1,
        ), state
    return None, tuple(after)


def settle(state: Sequence[int], limits: AccountLimits, admitted_ns: int, estimated: int, actual: int) -> State:
    """Replace the estimate of a request that was let in at `admitted_ns` by what it took; return the state after it.

    A window that has closed since then has forgotten the estimate, and so owes nothing back.
    """
    difference = actual - estimated
    if not difference or limits.is_unlimited:
        return current(state, limits)
    # The account may have other limits by now: then its windows are not the ones that this request was counted in.
    same = state[SHAPE] == limits.shape
    after = list(state)
    if limits.balance_nano is not None:
        after[SPENT] = max(0, after[SPENT] + difference * limits.price_nano)
    at = FIRST
    for window in limits.windows if same else ():
        if window.counts_tokens and 0 < after[at] <= admitted_ns:
            after[at + 1] = max(0, after[at + 1] + difference)
        at += PER_WINDOW
    return tuple(after)


def current(state: Sequence[int], limits: AccountLimits) -> State:
    """Return a state whose windows are those of the limits: the same, or if they were others, unused ones."""
    if state and state[SHAPE] == limits.shape:
        # A slot of shared memory may be longer than the state in it.
        return state if isinstance(state, tuple) else tuple(state[: words(limits)])
    return (limits.shape, state[SPENT] if state else 0, *(0,) * (PER_WINDOW * len(limits.windows)))


def uses(state: Sequence[int], limits: AccountLimits, now_ns: int) -> list[Use]:
    """Return how much of each window is used."""
    state = current(state, limits)
    result = []
    at = FIRST
    for window in limits.windows:
        ends = state[at] + window.length_ns
        if state[at] and now_ns < ends:
            used = state[at + 1]
            result.append(Use(window, used, max(0, window.limit - used), ends))
        else:
            result.append(Use(window, 0, window.limit, now_ns))
        at += PER_WINDOW
    return result


def balance_nano(state: Sequence[int], limits: AccountLimits) -> int | None:
    """Return what is left of the prepaid balance, in billionths of a dollar."""
    return None if limits.balance_nano is None else max(0, limits.balance_nano - state[SPENT])


def _full(state: State, limits: AccountLimits, now_ns: int, tokens: int, number: int) -> Rejection:
    window, used, _, ends = uses(state, limits, now_ns)[number]
    requested = tokens if window.counts_tokens else 1
    if requested > window.limit:
        reason, wait = Reason.TOO_LARGE, None
    else:
        rate = Reason.TOKENS if window.counts_tokens else Reason.REQUESTS
        reason, wait = Reason.QUOTA if window.is_quota else rate, ends - now_ns
    return Rejection(reason, wait_ns=wait, window=window.name, limit=window.limit, used=used, requested=requested)
