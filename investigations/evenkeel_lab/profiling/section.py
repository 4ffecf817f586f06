"""The profile section of a report: tables and flame graphs."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.flame import flame
from evenkeel_lab.profiling.frames import OTHER, UNSEEN
from evenkeel_lab.profiling.hot_functions import difference, top, wrappers
from evenkeel_lab.profiling.speedscope import speedscope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel_lab.profiling.profile import ArmProfile, Profile

ROWS, LINE = 10, 110
# From this share on, the profile has practically all of the CPU time.
WHOLE = 0.995
NAMELESS = {OTHER: "in functions too small to be listed", UNSEEN: "in threads that no sample saw at work"}
UNCOUNTED = """\
Each arm was profiled in one extra run after the pairs. No figure and no verdict contains that run. Below each flame
graph is the same profile for speedscope, where it can be searched and zoomed: open the file at speedscope.app."""


def flame_graphs(profile: Profile) -> dict[str, str]:
    """Return the flame graph of each arm, as SVG, by its name."""
    return {figure_of(arm): flame(taken, f"{profile.name}: {arm}") for arm, taken in sorted(profile.arms.items())}


def speedscope_files(profile: Profile) -> dict[str, str]:
    """Return the speedscope file of each arm, by its name."""
    return {
        f"{figure_of(arm)}.speedscope.json": speedscope(own, f"{profile.name}: {arm}")
        for arm, own in sorted(profile.arms.items())
    }


def figure_of(arm: str) -> str:
    """Return the name of an arm's flame graph."""
    return f"flame-{arm}"


def alt_of(arm: str) -> str:
    """Return the alternative text of an arm's flame graph."""
    return f"Flame graph of {arm}: its CPU time by function"


def section(profile: Profile, pictures: Mapping[str, str], folder: str) -> list[str]:
    """Return the lines of the section.

    `pictures` has the flame graphs by name, and `folder` is that of the page's other files.
    """
    lines = ["## Profiles", "", *UNCOUNTED.splitlines(), ""]
    for arm in _ordered(profile):
        lines += [f"### `{arm}`", "", *wrap(" ".join(_method(profile.arms[arm])), LINE, break_on_hyphens=False), ""]
        lines += [*_own(profile, arm), "", *_cumulated(profile, arm), ""]
        if arm != profile.baseline and profile.baseline in profile.arms:
            lines += [*_changed(profile, arm), ""]
        lines += [pictures[figure_of(arm)], ""]
        path = f"{folder}/{figure_of(arm)}.speedscope.json"
        lines += [f"[The profile for speedscope]({path})", ""]
    lines += [f"`{arm}` was not profiled: {why}." for arm, why in sorted(profile.skipped.items())]
    return lines


def _ordered(profile: Profile) -> Iterable[str]:
    return sorted(profile.arms, key=lambda arm: (arm != profile.baseline, arm))


def _method(profile: ArmProfile) -> Iterator[str]:
    """Yield sentences on the samples, the sampler, and its effect on the subject."""
    unit = profile.unit
    yield (
        f"Sampled by {profile.sampler}, {profile.rate} times a second for {profile.seconds:.0f} s: "
        f"{profile.samples:,} samples of {profile.requests:,} {unit}s."
    )
    if profile.why:
        yield profile.why
    part = (
        f", which is {profile.covered:.0%} of its whole cost: programs that are not Python, such as the query engine, "
        "are not in the profile"
    )
    cost = f"A {unit} cost {_number(profile.cpu_ms)} ms of CPU in Python processes"
    yield f"{cost}{part if profile.covered < WHOLE else ''}."
    if profile.slowdown is not None and profile.surcharge is not None:
        yield (
            f"The sampler changed the duration of a {unit} by {profile.slowdown:+.0%} and its CPU time by "
            f"{profile.surcharge:+.0%}, against one run without it just before. This includes the noise of two single "
            "runs."
        )


def _own(profile: Profile, arm: str) -> Iterator[str]:
    unit, costs = profile.arms[arm].unit, top(profile, arm)
    yield from (
        "Functions by their own CPU time, which includes what they call that is not Python:",
        "",
    )
    rows = [(cost.name, _number(cost.own), f"{cost.own_share:.1%}") for cost in costs if cost.name not in NAMELESS]
    yield from _table(("function", f"own, ms a {unit}", "share"), rows[:ROWS])
    rest = {cost.name: cost for cost in costs if cost.name in NAMELESS}
    parts = [f"{_number(rest[name].own)} ms {what}" for name, what in NAMELESS.items() if name in rest]
    if parts:
        yield from ("", *wrap(f"Besides: {', '.join(parts)}.", LINE))


def _cumulated(profile: Profile, arm: str) -> Iterator[str]:
    unit, hidden = profile.arms[arm].unit, wrappers(profile.arms[arm]) | NAMELESS.keys()
    costs = sorted(top(profile, arm), key=lambda cost: (-cost.cumulated, cost.name))
    rows = [
        (cost.name, _number(cost.cumulated), f"{cost.cumulated_share:.1%}") for cost in costs if cost.name not in hidden
    ]
    yield from ("Functions by their CPU time with all that they call, without those that only wrap one other:", "")
    yield from _table(("function", f"cumulated, ms a {unit}", "share"), rows[:ROWS])


def _changed(profile: Profile, arm: str) -> Iterator[str]:
    """Yield the functions whose cost is clearly higher than in the baseline, beyond the sampling error."""
    baseline, measured = profile.arms[profile.baseline], profile.arms[arm]
    changes = difference(profile, profile.baseline, arm)
    hidden = wrappers(measured) | NAMELESS.keys()
    own = [change for change in changes if change.own_is_clear and change.own > 0 and change.name not in NAMELESS]
    cumulated = [
        change for change in changes if change.cumulated_is_clear and change.cumulated > 0 and change.name not in hidden
    ]
    yield from wrap(
        f"A {measured.unit} cost {_number(measured.cpu_ms)} ms here, {_number(baseline.cpu_ms)} ms in "
        f"`{profile.baseline}`. "
        + ("Functions that cost" if own or cumulated else "No single function cost")
        + " more than there, beyond the sampling error"
        + (" (three standard errors):" if own or cumulated else "."),
        LINE,
    )
    if own:
        rows = [(change.name, f"+{_number(change.own)}", f"± {_number(change.own_error)}") for change in own]
        yield from ("", *_table(("function", f"own, ms a {measured.unit} more", "error"), rows[:ROWS]))
    if cumulated:
        cumulated.sort(key=lambda change: (-change.cumulated, change.name))
        rows = [
            (change.name, f"+{_number(change.cumulated)}", f"± {_number(change.cumulated_error)}")
            for change in cumulated
        ]
        yield from ("", *_table(("function", f"cumulated, ms a {measured.unit} more", "error"), rows[:ROWS]))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return lines + [f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"  # noqa: PLR2004  # more digits are noise
