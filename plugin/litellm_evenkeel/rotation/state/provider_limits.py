"""Limits of one scope: those that the operator set, and those that the provider states in response headers."""

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

# A provider's limit is the same as an operator's if their amounts differ by no more than this share.
SAME_LIMIT_TOLERANCE = 0.01
# Bounds the memory that a provider with ever new dimensions in its headers can take.
MAX_DIMENSIONS = 12
WEEK = 7 * DAY


class ProviderLimits:
    """Quota windows of one scope; `windows` has those of the operator first."""

    __slots__ = ("_by_dimension", "operator_windows", "windows")

    def __init__(self, operator_windows: Iterable[QuotaWindow] = ()) -> None:
        self.operator_windows = tuple(operator_windows)
        self._by_dimension: dict[tuple[str, float | None], QuotaWindow] = {}
        self.windows = self.operator_windows

    def with_operator_windows(self, operator_windows: Iterable[QuotaWindow]) -> ProviderLimits:
        """Return a copy with other limits of the operator. Other limits that the provider stated are kept."""
        copy = ProviderLimits(operator_windows)
        kept = {window for window in self._by_dimension.values() if copy._keeps(window, self.operator_windows)}
        copy._by_dimension = {key: window for key, window in self._by_dimension.items() if window in kept}
        copy._update_windows()
        return copy

    def is_operator_limit(self, reading: LimitReading) -> bool:
        """Return whether `reading` is of a limit that the operator has set too."""
        return self._operator_window(reading) is not None

    def apply(self, readings: Iterable[LimitReading], began: float, now: float, pending: Sequence[Usage] = ()) -> None:
        """Apply the limit readings in the response to a request that began at `began`.

        `pending` is the usage of requests in flight that began later: the provider may not have counted it yet.
        """
        for reading in readings:
            left = _left(reading)
            if left is None:
                continue
            window = self._window(reading)
            if window is not None:
                resets_in = reading.resets_in if reading.resets_in is not None else window.limit.seconds
                begun_since = sum(window.amount_of(usage) for usage in pending)
                # Bounded like cooldowns: a wrong reset must not block an account for ever.
                window.apply_reading(began, now, left, min(resets_in, LONGEST_QUOTA), begun_since)

    def _window(self, reading: LimitReading) -> QuotaWindow | None:
        key = (reading.dimension, reading.limit)
        window = self._by_dimension.get(key)
        if window is None:
            # Another amount in the same dimension: the provider has changed the limit, and the old one is gone.
            for outdated in [known for known in self._by_dimension if known[0] == reading.dimension]:
                del self._by_dimension[outdated]
            if len(self._by_dimension) < MAX_DIMENSIONS:
                window = self._by_dimension[key] = self._operator_window(reading) or _new_window(reading)
                self._update_windows()
        return window

    def _update_windows(self) -> None:
        stated = dict.fromkeys(self._by_dimension.values())
        own = self.operator_windows
        self.windows = (*own, *(window for window in stated if window not in own))

    def _keeps(self, window: QuotaWindow, former: Sequence[QuotaWindow]) -> bool:
        """Return whether a provider's window is still needed after the operator's limits have replaced `former`."""
        return window in self.operator_windows or not (
            window in former or any(_is_same(window.limit, own.limit) for own in self.operator_windows)
        )

    def _operator_window(self, reading: LimitReading) -> QuotaWindow | None:
        """Return the operator's window for the limit that was read; `None` if there is none."""
        if reading.limit is None:
            return None
        unit = _unit(reading)
        for window in self.operator_windows:
            limit = window.limit
            if reading.window_seconds in {None, limit.seconds} and _is_same(
                RateLimit(unit, reading.limit, limit.seconds), limit
            ):
                return window
        return None


def _new_window(reading: LimitReading) -> QuotaWindow:
    seconds = reading.window_seconds
    if reading.limit:
        resets_in = reading.resets_in or 0.0
        # Providers that do not state the length of a window mean a minute, unless the reset is further away.
        return QuotaWindow(
            RateLimit(_unit(reading), reading.limit, seconds or (MINUTE if resets_in <= MINUTE else DAY))
        )
    return UtilizationWindow(RateLimit(Unit.SHARE, 1.0, seconds or WEEK))


def _is_same(limit: RateLimit, own: RateLimit) -> bool:
    is_close = abs(limit.amount - own.amount) <= SAME_LIMIT_TOLERANCE * own.amount
    return is_close and (limit.unit, limit.seconds) == (own.unit, own.seconds)


def _left(reading: LimitReading) -> float | None:
    """Return the amount that is left, or the share if the reading states no limit; `None` if it states neither."""
    if reading.limit and reading.remaining is not None:
        return reading.remaining
    if reading.used_share is None:
        return None
    left = max(1 - reading.used_share, 0.0)
    return left * reading.limit if reading.limit else left


def _unit(reading: LimitReading) -> Unit:
    return Unit.TOKENS if "token" in reading.dimension else Unit.REQUESTS
