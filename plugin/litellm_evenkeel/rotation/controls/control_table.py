"""Table of the controls that are in force in one worker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.control import Control, ControlKind, Pause, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec

ControlKey = tuple[str, ControlKind]

# Bounds the memory that controls of accounts that no longer exist can take.
MAX_CONTROLS = 10_000


class ControlTable:
    """Controls by account and kind. `on_change` gets each account whose controls change, and their kinds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._controls: dict[ControlKey, Control] = {}
        self.on_change: Callable[[str, frozenset[ControlKind]], None] = lambda _account, _kinds: None

    def of_account(self, account: str) -> tuple[Control, ...]:
        """Return the controls of an account."""
        keys = ((account, kind) for kind in ControlKind)
        return tuple(self._controls[key] for key in keys if key in self._controls)

    def counts(self) -> Mapping[str, int]:
        """Return the number of controls: those of traffic by the traffic, others by their kind."""
        counts = dict.fromkeys((*Traffic, ControlKind.PRIORITY, ControlKind.WEIGHT), 0)
        for control in self._controls.values():
            counts[control.traffic or control.kind] += 1
        return {str(name): number for name, number in counts.items()}

    def pause_of(self, account: str) -> Pause | None:
        """Return the pause of an account, or `None` if it takes all traffic."""
        control = self._controls.get((account, ControlKind.TRAFFIC))
        return None if control is None else Pause(control.ends_at(), control.traffic is Traffic.DRAINING)

    def applied_to(self, spec: DeploymentSpec) -> DeploymentSpec:
        """Return a deployment's spec with the priority and the weight that operators gave its account."""
        if not self._controls:
            return spec
        priority = self._controls.get((spec.account, ControlKind.PRIORITY))
        if priority is not None and priority.number is not None:
            spec = replace(spec, priority=int(priority.number))
        weight = self._controls.get((spec.account, ControlKind.WEIGHT))
        if weight is not None and weight.number is not None:
            spec = replace(spec, weight=weight.number)
        return spec

    def put(self, control: Control) -> None:
        """Add a control. It replaces the account's control of the same kind."""
        self.replace([*self._controls.values(), control])

    def withdraw(self, key: ControlKey) -> None:
        """Remove a control, if there is one."""
        self.replace([control for control in self._controls.values() if (control.account, control.kind) != key])

    def replace(self, controls: Iterable[Control]) -> None:
        """Replace all controls. Those that have ended are left out."""
        now, former = self._clock(), self._controls
        current = {(control.account, control.kind): control for control in controls if control.ends_at() > now}
        self._controls = dict(list(current.items())[-MAX_CONTROLS:])
        changed: dict[str, set[ControlKind]] = {}
        for key in former.keys() | self._controls.keys():
            if former.get(key) != self._controls.get(key):
                changed.setdefault(key[0], set()).add(key[1])
        for account in sorted(changed):
            self.on_change(account, frozenset(changed[account]))

    def everything(self) -> list[Control]:
        """Return all controls."""
        return list(self._controls.values())

    def expire(self) -> None:
        """Remove the controls that have ended."""
        now = self._clock()
        if any(control.ends_at() <= now for control in self._controls.values()):
            self.replace(list(self._controls.values()))
