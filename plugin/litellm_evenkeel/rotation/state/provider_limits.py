"""The limits of one account or model: those that an operator wrote, and those that its provider tells of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.providers.classifier import LONGEST_QUOTA
from litellm_evenkeel.rotation.model.limits import DAY, MINUTE, RateLimit, Unit
from litellm_evenkeel.rotation.state.quota_window import QuotaWindow
from litellm_evenkeel.rotation.state.utilization_window import UtilizationWindow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from litellm_evenkeel.providers.limit_headers import LimitReading
    from litellm_evenkeel.rotation.model.request import Usage

# A provider's limit is an operator's if they differ by no more than this share.
SAME = 0.01
# Whoever invents dimensions cannot fill our memory with them.
MOST = 12
WEEK = 7 * DAY


class ProviderLimits:
    """The windows of one side; `windows` holds the operator's first."""

    __slots__ = ("_by_dimension", "_own", "windows")

    def __init__(self, own: Iterable[QuotaWindow]) -> None:
        self._own = tuple(own)
        self._by_dimension: dict[tuple[str, float | None], QuotaWindow] = {}
        self.windows: tuple[QuotaWindow, ...] = self._own

    def with_operator_windows(self, own: Iterable[QuotaWindow]) -> ProviderLimits:
        """Return it with other limits of the operator's: what else its provider has told of stays."""
        found = ProviderLimits(own)
        kept = {window for window in self._by_dimension.values() if found._keeps(window, self._own)}
        found._by_dimension = {key: window for key, window in self._by_dimension.items() if window in kept}
        found._put_together()
        return found

    def without_readings(self) -> ProviderLimits:
        """Return it with the operator's limits alone."""
        return ProviderLimits(self._own)

    def is_operator_limit(self, reading: LimitReading) -> bool:
        """Return whether this is a limit that the operator wrote."""
        return self._same(reading) is not None

    def apply(self, readings: Iterable[LimitReading], began: float, now: float, pending: Sequence[Usage] = ()) -> None:
        """Believe what a provider says of its limits, in answer to a request that began at a moment.

        What is pending was begun since, and is still under way.
        """
        for reading in readings:
            left = _left(reading)
            if left is None:
                continue
            window = self._window(reading)
            if window is not None:
                resets_in = reading.resets_in if reading.resets_in is not None else window.limit.seconds
                begun_since = sum(window.amount_of(usage) for usage in pending)
                # A hold is no longer either, whatever a provider says.
                window.apply_reading(began, now, left, min(resets_in, LONGEST_QUOTA), begun_since)

    def _window(self, reading: LimitReading) -> QuotaWindow | None:
        key = (reading.dimension, reading.limit)
        window = self._by_dimension.get(key)
        if window is None:
            # A provider that has changed a limit has only the newest.
            for other in [one for one in self._by_dimension if one[0] == reading.dimension]:
                del self._by_dimension[other]
            if len(self._by_dimension) < MOST:
                window = self._by_dimension[key] = self._same(reading) or self._new(reading)
                self._put_together()
        return window

    def _put_together(self) -> None:
        told = dict.fromkeys(self._by_dimension.values())
        self.windows = (*self._own, *(one for one in told if one not in self._own))

    def _keeps(self, window: QuotaWindow, former: Sequence[QuotaWindow]) -> bool:
        """Return whether a window of a provider's limit is still needed, after other limits of the operator's."""
        return window in self._own or not (
            window in former or any(_is_same(window.limit, one.limit) for one in self._own)
        )

    def _same(self, reading: LimitReading) -> QuotaWindow | None:
        """Return the operator's limit that is this one."""
        if reading.limit is None:
            return None
        unit = _unit(reading)
        for window in self._own:
            limit = window.limit
            if reading.window_seconds in {None, limit.seconds} and _is_same(
                RateLimit(unit, reading.limit, limit.seconds), limit
            ):
                return window
        return None

    def _new(self, reading: LimitReading) -> QuotaWindow:
        seconds = reading.window_seconds
        if reading.limit:
            resets_in = reading.resets_in or 0.0
            # Who does not say how long a window is means a minute's, unless its reset is further off.
            return QuotaWindow(
                RateLimit(_unit(reading), reading.limit, seconds or (MINUTE if resets_in <= MINUTE else DAY))
            )
        return UtilizationWindow(RateLimit(Unit.SHARE, 1.0, seconds or WEEK))


def _is_same(one: RateLimit, other: RateLimit) -> bool:
    is_close = abs(one.amount - other.amount) <= SAME * other.amount
    return is_close and (one.unit, one.seconds) == (other.unit, other.seconds)


def _left(reading: LimitReading) -> float | None:
    if reading.limit and reading.remaining is not None:
        return reading.remaining
    if reading.used_share is None:
        return None
    left = max(1 - reading.used_share, 0.0)
    return left * reading.limit if reading.limit else left


def _unit(reading: LimitReading) -> Unit:
    return Unit.TOKENS if "token" in reading.dimension else Unit.REQUESTS
