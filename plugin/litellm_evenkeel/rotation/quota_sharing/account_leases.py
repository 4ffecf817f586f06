"""All leases of one scope: its quota windows and its slots, requested together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from litellm_evenkeel.rotation.quota_sharing.leased_window import LeasedWindow
from litellm_evenkeel.rotation.quota_sharing.protocol import ScopeRequest, SharingContext, WindowRequest

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.quota_sharing.leased_concurrency import LeasedConcurrency
    from litellm_evenkeel.rotation.quota_sharing.protocol import ClockOffset, ScopeGrant
    from litellm_evenkeel.rotation.state.account_scope import ScopeKey

MIN_RETENTION_SECONDS = 60.0


class LeaseCoordinator(SharingContext, Protocol):
    """The part of the coordinator that the leases of a scope need."""

    def request_now(self, leases: AccountLeases) -> bool:
        """Request a lease at once, because a request waits for it. Return whether it will be requested."""

    def request_soon(self, leases: AccountLeases) -> None:
        """Request a lease with the next exchange."""


class AccountLeases:
    """All leases of one scope."""

    __slots__ = ("_coordinator", "_requested", "name", "scope_key", "slots", "windows")

    def __init__(self, key: ScopeKey, coordinator: LeaseCoordinator) -> None:
        account, model = key
        self.scope_key, self._coordinator = key, coordinator
        self.name = quote(account, safe="") + ("" if model is None else "/" + quote(model, safe=""))
        self.windows: dict[str, LeasedWindow] = {}
        self.slots: LeasedConcurrency | None = None
        self._requested: list[tuple[LeasedWindow, WindowRequest]] = []
        """The windows in the current exchange, and the request of each."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to request, to report or to return."""
        return all(window.is_idle for window in self.windows.values()) and (self.slots is None or self.slots.is_idle)

    @property
    def needs_renewal(self) -> bool:
        """Whether the next tick has to check these leases again."""
        if self.slots and not self.slots.is_idle:
            return True
        return any(window.is_demanding for window in self.windows.values())

    def add_window(self, limit: RateLimit) -> LeasedWindow:
        """Return a new window. It replaces one of the same name, whose limit has changed."""
        window = LeasedWindow(
            limit,
            self._coordinator,
            lambda: self._coordinator.request_now(self),
            lambda: self._coordinator.request_soon(self),
        )
        self.windows[window.name] = window
        return window

    def build_request(self, now: float, *, confirms: bool) -> ScopeRequest | None:
        """Return the request for the store, or `None` if there is none. `confirms`: this exchange is a heartbeat."""
        is_pulled = any(window.is_demanding for window in self.windows.values())
        self._requested = [
            (window, request)
            for window in self.windows.values()
            if (request := window.build_request(now, is_pulled=is_pulled, confirms=confirms)) is not None
        ]
        slots = self.slots.build_request(now, confirms=confirms) if self.slots else None
        if not self._requested and slots is None:
            return None
        retention = max((window.retention for window in self.windows.values()), default=0.0)
        window_requests = tuple(request for _, request in self._requested)
        return ScopeRequest(self.name, max(retention, MIN_RETENTION_SECONDS), window_requests, slots)

    def apply_grant(self, request: ScopeRequest, grant: ScopeGrant, now: float, clock_offset: ClockOffset) -> bool:
        """Apply the store's answer. Return whether a request that was blocked here may try again."""
        unblocked = [
            window.apply_grant(window_request, window_grant, now, clock_offset)
            for (window, window_request), window_grant in zip(self._requested, grant.windows, strict=True)
        ]
        self._requested = []
        if self.slots and request.slots and grant.slots and not self._coordinator.mode.is_local:
            unblocked.append(self.slots.apply_grant(grant.slots, now))
        return any(unblocked)

    def return_all(self, now: float) -> ScopeRequest | None:
        """Return the request that gives back all leases, or `None` if there are none."""
        for window in self.windows.values():
            window.return_all()
        if self.slots:
            self.slots.scope.leased_slots = 0
        return self.build_request(now, confirms=True)

    def on_timeout(self) -> None:
        """Handle an exchange whose outcome is unknown."""
        for window, _ in self._requested:
            window.on_timeout()
        self._requested = []
