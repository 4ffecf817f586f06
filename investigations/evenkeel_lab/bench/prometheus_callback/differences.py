"""In what our scrapes may differ from LiteLLM's own, and why: read from the committed list, `differences.toml`."""

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

LIST: Final = Path(__file__).with_name("differences.toml")


@dataclass(frozen=True)
class Documented:
    """One documented difference."""

    family: str
    """A pattern; a metric's whole name."""
    kinds: frozenset[Kind]
    reason: str
    only: str = "any"
    """Under which condition: a name of `CONDITIONS`."""
    within: float = math.inf
    """Of a value: by how much at most."""
    settings: str = ".*"
    """A pattern: under which settings, by their name in `MATRIX`."""

    def covers(self, difference: Difference) -> bool:
        """Whether a difference is this one."""
        first, second = difference.values
        return (
            difference.kind in self.kinds
            and re.fullmatch(self.family, difference.family) is not None
            and CONDITIONS[self.only](difference)
            and (math.isinf(self.within) or abs(first - second) <= self.within)
        )


def _names(told: str) -> set[str]:
    return set(told.split(", ")) - {""}


CONDITIONS: Final[Mapping[str, Callable[[Difference], bool]]] = {
    "any": lambda _: True,
    "stock says +Inf": lambda difference: difference.values[0] == math.inf,
    "stock says less than nothing": lambda difference: difference.values[0] < 0,
    "stock names the worker": lambda difference: _names(difference.first) - _names(difference.second) == {WORKER},
    "of end users, addresses or user agents": lambda difference: any(
        f'{name}="' in difference.series for name in ("end_user", "client_ip", "user_agent")
    ),
    "of oddly told callers": lambda difference: VARIED_HASH in difference.series or f"-{VARIED}-" in difference.series,
}
"""What a documented difference may be restricted to."""


@cache
def documented(place: Path = LIST) -> Sequence[Documented]:
    """Return the list."""
    told = tomllib.loads(place.read_text(encoding="utf-8"))["difference"]
    return [
        Documented(
            one["family"],
            frozenset(Kind(kind) for kind in one["kinds"]),
            one["reason"],
            one.get("only", "any"),
            one.get("within", math.inf),
            one.get("settings", ".*"),
        )
        for one in told
    ]


def undocumented(
    differences: Iterable[Difference], known: Sequence[Documented] | None = None, settings: str = ""
) -> list[Difference]:
    """Return the differences that have no documented reason under these settings."""
    known = [one for one in (documented() if known is None else known) if re.fullmatch(one.settings, settings)]
    return [one for one in differences if not any(reason.covers(one) for reason in known)]
