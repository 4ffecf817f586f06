"""The documented differences between our scrapes and stock's, each with its reason: `differences.toml`."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.sampling import VARIED, VARIED_HASH
from evenkeel_lab.bench.prometheus_callback.scrape import WORKER, Difference, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FILE: Final = Path(__file__).with_name("differences.toml")


@dataclass(frozen=True)
class Documented:
    """One documented difference."""

    family: str
    """A pattern for the whole name of a metric."""
    kinds: frozenset[Kind]
    reason: str
    only: str = "any"
    """A further condition: a name in `CONDITIONS`."""
    within: float = math.inf
    """The largest absolute difference of two values."""
    settings: str = ".*"
    """A pattern for the names of settings in `MATRIX`."""

    def covers(self, difference: Difference) -> bool:
        """Whether this documents `difference`."""
        first, second = difference.values
        return (
            difference.kind in self.kinds
            and re.fullmatch(self.family, difference.family) is not None
            and CONDITIONS[self.only](difference)
            and (math.isinf(self.within) or abs(first - second) <= self.within)
        )


def _label_names(text: str) -> set[str]:
    return set(text.split(", ")) - {""}


CONDITIONS: Final[Mapping[str, Callable[[Difference], bool]]] = {
    "any": lambda _: True,
    "stock says +Inf": lambda difference: difference.values[0] == math.inf,
    "stock says less than nothing": lambda difference: difference.values[0] < 0,
    "stock names the worker": lambda difference: (
        _label_names(difference.first) - _label_names(difference.second) == {WORKER}
    ),
    "of end users, addresses or user agents": lambda difference: any(
        f'{name}="' in difference.series for name in ("end_user", "client_ip", "user_agent")
    ),
    "of oddly told callers": lambda difference: VARIED_HASH in difference.series or f"-{VARIED}-" in difference.series,
}
"""The conditions that `only` may name."""


@cache
def documented(file: Path = FILE) -> Sequence[Documented]:
    """Read the documented differences."""
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["difference"]
    return [
        Documented(
            entry["family"],
            frozenset(Kind(kind) for kind in entry["kinds"]),
            entry["reason"],
            entry.get("only", "any"),
            entry.get("within", math.inf),
            entry.get("settings", ".*"),
        )
        for entry in entries
    ]


def undocumented(
    differences: Iterable[Difference], known: Sequence[Documented] | None = None, settings: str = ""
) -> list[Difference]:
    """Return the differences without a documented reason under these settings."""
    reasons = [
        reason for reason in (documented() if known is None else known) if re.fullmatch(reason.settings, settings)
    ]
    return [difference for difference in differences if not any(reason.covers(difference) for reason in reasons)]
