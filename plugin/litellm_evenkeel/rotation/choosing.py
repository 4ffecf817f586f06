"""Which candidate of a group a request gets: its session's, the best by the strategy, or the one that makes do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.picks import Full, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.group import Group

Found = tuple[int, Reason]


def choose(group: Group, asked: Asked, now: float, random: Callable[[], float]) -> Found | Full:
    """Return the position of the one to take, and why it is that one; or that there is none."""
    if asked.prefer is not None:
        pinned = preferred(group, asked, now, random)
        if pinned is not None:
            return pinned, Reason.STICKY
        bar = coming(group, asked, now)
        if bar is not None:
            return Full(max(bar.opens_at - now, 0.0), bar)
    if group.full is not None and is_known_full(group, asked, now):
        return _among_freed(group, asked, now, random) or Full(max(group.full_until - now, 0.0), group.full)
    return _first_open(_ordered(group, asked, now), group, asked, now, random) or _making_do(group, asked, now)


def preferred(group: Group, asked: Asked, now: float, random: Callable[[], float]) -> int | None:
    """Return the position at which the session is pinned, if it may be used; on its way back, not by all."""
    if asked.prefer is None:
        return None
    for position in group.at_account.get(asked.prefer, ()):
        place = group.places[position]
        if place.seat.id not in asked.tried and place.bar(asked.need, now) is None:
            share = place.share(now)
            if share >= 1 or random() < share:
                return position
    return None


def coming(group: Group, asked: Asked, now: float) -> Bar | None:
    """Return what the session's account lacks only for a moment, if that is all that keeps the request from it."""
    if asked.prefer is None or asked.presses:
        return None
    for position in group.at_account.get(asked.prefer, ()):
        place = group.places[position]
        bar = None if place.seat.id in asked.tried else place.bar(asked.need, now)
        if bar is not None and bar.is_coming:
            return bar
    return None


def is_known_full(group: Group, asked: Asked, now: float) -> bool:
    """Return whether all were found shut for such a request, and none can have opened but those that were freed."""
    is_found = now < group.full_until and asked.need.tokens >= group.full_tokens and group.full is not None
    return is_found and not asked.presses


def _ordered(group: Group, asked: Asked, now: float) -> Iterator[int]:
    snapshot = group.snapshot
    for tier in snapshot.tiers:
        yield from group.strategy.order(tier, group.places, asked, now)
    # Those that were shut when the snapshot was made: they may have opened since, or be open to a smaller request.
    for position, weight in enumerate(snapshot.weights):
        if not weight:
            yield position


def _first_open(
    positions: Iterable[int], group: Group, asked: Asked, now: float, random: Callable[[], float]
) -> Found | Full | None:
    """Return the first that is open; a later tier waits for what an earlier one lacks only for a moment."""
    found, lacks, tier = None, None, math.inf
    for position in positions:
        place = group.places[position]
        if place.seat.id in asked.tried:
            continue
        bar = place.bar(asked.need, now)
        if bar is not None:
            group.found_shut(position, asked.need, now)
            if bar.is_coming and not asked.presses and place.seat.priority < tier:
                lacks, tier = bar, place.seat.priority
            continue
        share = place.share(now)
        if share >= 1 or random() < share:
            found = position, Reason.STRATEGY
            break
        found = (position, Reason.RAMP) if found is None else found
    if found is not None and lacks is not None and tier < group.places[found[0]].seat.priority:
        return Full(max(lacks.opens_at - now, 0.0), lacks)
    return found


def _among_freed(group: Group, asked: Asked, now: float, random: Callable[[], float]) -> Found | Full | None:
    """Look only where something has happened since all were found shut."""
    freed = group.freed_in_turn()
    found = _first_open(freed, group, asked, now, random) or next(
        ((position, Reason.SOONEST) for position in freed if _is_only_guessed(group, position, asked, now)), None
    )
    if found is None and not asked.tried:
        group.still_full(asked.need)
    return found


def _is_only_guessed(group: Group, position: int, asked: Asked, now: float) -> bool:
    """Return whether nothing but a guess of ours stands in the way."""
    place = group.places[position]
    bar = place.bar(asked.need, now)
    if bar is None or place.seat.id in asked.tried or not _gives_way(bar, asked):
        return False
    limit = place.limits_bar(asked.need, now)
    return limit is None or _gives_way(limit, asked)


def _later(group: Group, found: tuple[float, int, Bar]) -> tuple[float, int]:
    """Return when one opens and where it stands: later by a second for each request that is under way there.

    What makes do is spread, or all of it would fall on the one whose hold ends first.
    """
    opens_at, position, _ = found
    return opens_at + group.places[position].account.in_flight, position


def _gives_way(bar: Bar, asked: Asked) -> bool:
    return not bar.is_sure or (bar.is_part and asked.presses)


def _making_do(group: Group, asked: Asked, now: float) -> Found | Full:
    """Return the one whose hold ends first, if that is a guess of ours; else say who will be free first, and when."""
    bars = [
        (bar.opens_at, position, bar)
        for position, place in enumerate(group.places)
        if (bar := place.bar(asked.need, now)) is not None
    ]
    found = _soonest(group, bars, asked, now, Reason.SOONEST)
    if found is not None:
        return found
    for position, place in enumerate(group.places):
        if place.seat.id in asked.tried and place.bar(asked.need, now) is None:
            return position, Reason.AGAIN
    untried = asked._replace(tried=frozenset())
    found = _soonest(group, bars, untried, now, Reason.AGAIN)
    if found is not None:
        return found
    if not bars:
        return Full(math.inf, None)
    # Those that it has tried among them: what has failed once is not dead.
    # Every single one is shut here, by what is sure.
    first = group.is_full([bar for _, _, bar in bars], asked.need, now)
    return Full(max(first.opens_at - now, 0.0), first)


def _soonest(
    group: Group, bars: Iterable[tuple[float, int, Bar]], asked: Asked, now: float, reason: Reason
) -> Found | Full | None:
    """Return the one whose hold ends first, of those that only guesses hold; while each is on trial, that it is."""
    yielding = [one for one in bars if _gives_way(one[2], asked)]
    guesses = [_later(group, one) for one in yielding if _is_only_guessed(group, one[1], asked, now)]
    if not guesses:
        return None
    trials = [(group.places[position].trial_ends, position) for _, position in guesses]
    free = [one for one, (ends, _) in zip(guesses, trials, strict=True) if asked.presses or ends <= now]
    if free:
        return min(free)[1], reason
    ends, position = min(trials)
    return Full(ends - now, Bar(Why.TRIAL, ends, group.places[position].seat.account, is_sure=False))
