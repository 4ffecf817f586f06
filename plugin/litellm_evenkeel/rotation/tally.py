"""What has happened at each account since this worker began."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.kinds import FailureKind
    from litellm_evenkeel.rotation.picks import PickReason


@dataclass(slots=True)
class PickCounts:
    """Counts, by account."""

    picks: Counter[tuple[str, PickReason]] = field(default_factory=Counter)
    failures: Counter[tuple[str, FailureKind]] = field(default_factory=Counter)

    def of(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
        """Return picks by reason and failures by kind, each by account."""
        return _by_account(self.picks), _by_account(self.failures)


def _by_account(
    counts: Counter[tuple[str, PickReason]] | Counter[tuple[str, FailureKind]],
) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (account, what), count in counts.items():
        found.setdefault(account, {})[str(what)] = count
    return found
