"""All that one side shares: its windows and its slots, asked for together."""

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


class LeaseCoordinator(SharingContext, Protocol):
    """What renews leases."""

    def request_now(self, leases: AccountLeases) -> bool:
        """Request a lease at once, because a request waits for it. Return whether it will be requested."""

    def request_soon(self, leases: AccountLeases) -> None:
        """Request a lease with the next exchange."""


class AccountLeases:
    """All leases of one scope: its windows and its slots, requested together."""

    __slots__ = ("_asked", "_coordinator", "name", "scope_key", "slots", "windows")

    def __init__(self, key: ScopeKey, coordinator: LeaseCoordinator) -> None:
        account, model = key
        self.scope_key, self._coordinator = key, coordinator
        self.name = quote(account, safe="") + ("" if model is None else "/" + quote(model, safe=""))
        self.windows: dict[str, LeasedWindow] = {}
        self.slots: LeasedConcurrency | None = None
        self._asked: list[tuple[LeasedWindow, WindowRequest]] = []

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say, and nothing to give back."""
        return all(window.is_idle for window in self.windows.values()) and (self.slots is None or self.slots.is_idle)

    @property
    def needs_renewal(self) -> bool:
        """Whether it is to be looked at again soon."""
        if self.slots and not self.slots.is_idle:
            return True
        return any(window.is_demanding for window in self.windows.values())

    def add_window(self, limit: RateLimit) -> LeasedWindow:
        """Return a new window; one of the same name was of a limit that has changed."""
        window = LeasedWindow(
            limit,
            self._coordinator,
            lambda: self._coordinator.request_now(self),
            lambda: self._coordinator.request_soon(self),
        )
        self.windows[window.name] = window
        return window

    def build_request(self, now: float, *, confirms: bool) -> ScopeRequest | None:
        """Return what is to be said to the store, if anything is; a sign of life confirms what is held."""
        is_pulled = any(window.is_demanding for window in self.windows.values())
        self._asked = [
            (window, ask)
            for window in self.windows.values()
            if (ask := window.build_request(now, is_pulled=is_pulled, confirms=confirms)) is not None
        ]
        is_local = self._coordinator.mode.is_local
        slots = (
            self.slots.build_request(now, self._coordinator.workers, is_local=is_local, confirms=confirms)
            if self.slots
            else None
        )
        if not self._asked and slots is None:
            return None
        keeps = max((window.retention for window in self.windows.values()), default=0.0)
        return ScopeRequest(self.name, max(keeps, 60.0), tuple(ask for _, ask in self._asked), slots)

    def apply_grant(self, request: ScopeRequest, grant: ScopeGrant, now: float, clock_offset: ClockOffset) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        pairs = zip(self._asked, grant.windows, strict=True)
        opened = [window.apply_grant(asked, told, now, clock_offset) for (window, asked), told in pairs]
        self._asked = []
        if self.slots and request.slots and grant.slots and not self._coordinator.mode.is_local:
            opened.append(self.slots.apply_grant(request.slots, grant.slots, now))
        return any(opened)

    def return_all(self, now: float) -> ScopeRequest | None:
        """Give everything back."""
        for window in self.windows.values():
            window.return_all()
        if self.slots:
            self.slots.scope.leased_slots = 0
        return self.build_request(now, confirms=True)

    def on_timeout(self) -> None:
        """Know that nobody knows what has become of it."""
        for window, _ in self._asked:
            window.on_timeout()
        self._asked = []
