"""How all accounts stand, as frozen values for routes, commands and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.said import finite

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from litellm_evenkeel.rotation.kinds import Kind
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.side import Side
    from litellm_evenkeel.rotation.sticky import StickyCounts
    from litellm_evenkeel.rotation.tally import Tally
    from litellm_evenkeel.rotation.windows import Window

# After so many accounts, others get the thread.
SLICE = 16
# The further from full traffic, the later; an account is as far as the worst of it.
GRAVITY = (State.OPEN, State.RAMPING, State.PROBING, State.HELD, State.QUARANTINED)


@dataclass(frozen=True, slots=True)
class WindowStanding:
    """One limit."""

    name: str
    amount: float
    left: float
    used_share: float
    resets_in: float
    """Seconds."""
    rate: float
    """So much of it is used in a second, lately."""
    runs_out_in: float | None
    """Seconds until it is used up, as things go now; None if it resets before."""


@dataclass(frozen=True, slots=True)
class SideStanding:
    """An account as a whole, or one model at it."""

    model: str | None
    """None for the account as a whole."""
    state: State
    share: float
    """Which share of its traffic it may have."""
    held_for: float | None
    """Seconds until its hold ends; None if nothing holds it, or only an operator ends it."""
    kind: Kind | None
    """What kind of failure holds it."""
    why: str
    """Which rule the failure matched; nothing that a provider or a user wrote."""
    is_told: bool
    """Whether its provider said for how long; else it is a guess."""
    in_flight: int
    concurrent: int | None
    windows: tuple[WindowStanding, ...]
    latency: float | None
    """Seconds, of late, of the slowest of its deployments; None if nobody knows."""
    deployments: tuple[str, ...]
    tiers: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AccountStanding:
    """One account."""

    account: str
    state: State
    """The gravest: of the account, or of all its models if none of them is any better."""
    whole: SideStanding
    models: tuple[SideStanding, ...]
    pins: int
    picks: Mapping[str, int]
    """By reason, since this worker began."""
    failures: Mapping[str, int]
    """By kind, since this worker began."""

    def as_json(self) -> dict[str, Any]:
        """Return it for a program; what is infinite or unknown is null."""
        return {
            "account": self.account,
            "state": self.state,
            **_plain(self.whole),
            "pins": self.pins,
            "picks": dict(self.picks),
            "failures": dict(self.failures),
            "models": [{"model": one.model, "state": one.state, **_plain(one)} for one in self.models],
        }


def standings(
    pool: Pool, now: float, tally: Tally, sticky: StickyCounts | None = None, *, only: Sequence[str] | None = None
) -> Generator[None, None, tuple[AccountStanding, ...]]:
    """Look at all accounts, or some, by name; yields at times, so that others can have the thread."""
    by_account = sides(pool)
    picks, failures = tally.of()
    pins = sticky.accounts if sticky else {}
    wanted = by_account if only is None else [name for name in dict.fromkeys(only) if name in by_account]
    found = []
    for number, name in enumerate(sorted(wanted), 1):
        if number % SLICE == 0:
            yield
        found.append(
            account_standing(
                name, by_account[name], now, pins.get(name, 0), picks.get(name, {}), failures.get(name, {})
            )
        )
    return tuple(found)


def sides(pool: Pool) -> dict[str, list[Side]]:
    """Return all sides by account; each account as a whole comes before its models."""
    found: dict[str, list[Side]] = {}
    for (account, model), side in pool.sides.items():
        several = found.setdefault(account, [])
        several.insert(0 if model is None else len(several), side)
    return found


def account_standing(
    name: str, of: Sequence[Side], now: float, pins: int, picks: Mapping[str, int], failures: Mapping[str, int]
) -> AccountStanding:
    """Look at one account."""
    whole, *models = [side_standing(side, now) for side in of]
    best = min((GRAVITY.index(one.state) for one in models), default=0)
    state = GRAVITY[max(GRAVITY.index(whole.state), best)]
    return AccountStanding(name, state, whole, tuple(models), pins, picks, failures)


def side_standing(side: Side, now: float) -> SideStanding:
    """Look at one account as a whole, or at one model at it."""
    hold = side.hold
    state = hold.state(now)
    is_held = hold.kind is not None
    places = list(side.places)
    return SideStanding(
        model=side.key[1],
        state=state,
        share=hold.share(now),
        held_for=hold.until - now if state is State.HELD else None,
        kind=hold.kind,
        why=hold.reason if is_held else "",
        is_told=is_held and hold.is_told,
        in_flight=side.in_flight,
        concurrent=side.concurrent,
        windows=tuple([_window(window, now) for window in side.windows]),
        latency=max((place.latency.lately(now) for place in places), default=0.0) or None,
        deployments=tuple([place.seat.id for place in places]),
        tiers=_several(places, "priority"),
        weights=_several(places, "weight"),
    )


def _several(places: Sequence[Place], field: str) -> tuple[Any, ...]:
    return tuple(sorted({getattr(place.seat, field) for place in places}))


def _window(window: Window, now: float) -> WindowStanding:
    limit = window.limit
    # What this worker was granted of it is not what is left.
    left = min(max(window.remains(now), 0.0), limit.amount)
    return WindowStanding(
        name=limit.name,
        amount=limit.amount,
        left=left,
        used_share=1 - left / limit.amount,
        resets_in=window.resets_in(now),
        rate=window.rate(now),
        runs_out_in=finite(window.runs_out_in(now)),
    )


def _plain(one: SideStanding) -> dict[str, Any]:
    return {
        "share": finite(one.share),
        "held_for_seconds": finite(one.held_for),
        "kind": one.kind,
        "why": one.why,
        "is_told": one.is_told,
        "in_flight": one.in_flight,
        "concurrent": one.concurrent,
        "latency_seconds": finite(one.latency),
        "deployments": list(one.deployments),
        "tiers": list(one.tiers),
        "weights": list(one.weights),
        "windows": [
            {
                "name": window.name,
                "limit": finite(window.amount),
                "left": finite(window.left),
                "used_share": finite(window.used_share),
                "resets_in_seconds": finite(window.resets_in),
                "rate_per_second": finite(window.rate),
                "runs_out_in_seconds": finite(window.runs_out_in),
            }
            for window in one.windows
        ],
    }
