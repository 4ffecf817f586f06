"""What a report says about a profile: tables in markdown, and the flame graphs that it shows."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.flame import flame
from evenkeel_lab.profiling.frames import OTHER, UNSEEN
from evenkeel_lab.profiling.hot_functions import difference, on_the_way, top

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel_lab.profiling.profile import Profile, Taken

ROWS, LINE = 10, 110
# As good as all of the CPU.
WHOLE = 0.995
NAMELESS = {OTHER: "in functions too small to be told", UNSEEN: "in threads that no sample saw at work"}
UNCOUNTED = """\
Each arm was profiled in one extra run, after the pairs. It never counts: no figure and no verdict is made of it."""


def flame_graphs(profile: Profile) -> dict[str, str]:
    """Return the flame graph of each arm, as SVG, by its name."""
    return {figure_of(arm): flame(taken, f"{profile.name}: {arm}") for arm, taken in sorted(profile.arms.items())}


def figure_of(arm: str) -> str:
    """Return the name of an arm's flame graph."""
    return f"flame-{arm}"


def alt_of(arm: str) -> str:
    """Say what an arm's flame graph shows."""
    return f"Flame graph of {arm}: which functions its CPU goes to"


def section(profile: Profile, pictures: Mapping[str, str]) -> list[str]:
    """Return the lines of a chapter; `pictures` shows the flame graphs, by their names."""
    lines = ["## Profiles", "", UNCOUNTED, ""]
    for arm in _ordered(profile):
        lines += [f"### `{arm}`", "", *wrap(" ".join(_how(profile.arms[arm])), LINE, break_on_hyphens=False), ""]
        lines += [*_own(profile, arm), "", *_cumulated(profile, arm), ""]
        if arm != profile.baseline and profile.baseline in profile.arms:
            lines += [*_changed(profile, arm), ""]
        lines += [pictures[figure_of(arm)], ""]
    lines += [f"`{arm}` was not profiled: {why}." for arm, why in sorted(profile.skipped.items())]
    return lines


def _ordered(profile: Profile) -> Iterable[str]:
    return sorted(profile.arms, key=lambda arm: (arm != profile.baseline, arm))


def _how(taken: Taken) -> Iterator[str]:
    """Say what was sampled, with what, and what that did to the subject."""
    unit = taken.unit
    yield (
        f"Sampled by {taken.sampler}, {taken.rate} times a second for {taken.seconds:.0f} s: {taken.samples:,} samples "
        f"of {taken.requests:,} {unit}s."
    )
    if taken.why:
        yield taken.why
    part = (
        f"; that is {taken.covered:.0%} of what it cost in all: programs that are not Python, such as the query "
        "engine, are not in the profile"
    )
    yield (
        f"A {unit} cost {_number(taken.cpu_ms)} ms of CPU in Python processes{part if taken.covered < WHOLE else ''}."
    )
    if taken.slowdown is not None and taken.surcharge is not None:
        yield (
            f"With the sampler a {unit} took {taken.slowdown:+.0%} time and {taken.surcharge:+.0%} CPU, against one "
            "run without it just before; that holds the noise of two single runs, too."
        )


def _own(profile: Profile, arm: str) -> Iterator[str]:
    unit, found = profile.arms[arm].unit, top(profile, arm)
    yield from (
        "Where it went, by what functions spend in their own lines and in what they call that is not Python:",
        "",
    )
    rows = [(one.name, _number(one.own), f"{one.own_share:.1%}") for one in found if one.name not in NAMELESS]
    yield from _table(("function", f"own, ms a {unit}", "share"), rows[:ROWS])
    rest = {one.name: one for one in found if one.name in NAMELESS}
    told = [f"{_number(rest[name].own)} ms {what}" for name, what in NAMELESS.items() if name in rest]
    if told:
        yield from ("", *wrap(f"Beside these and other functions: {', '.join(told)}.", LINE))


def _cumulated(profile: Profile, arm: str) -> Iterator[str]:
    unit, hidden = profile.arms[arm].unit, on_the_way(profile.arms[arm]) | NAMELESS.keys()
    found = sorted(top(profile, arm), key=lambda one: (-one.cumulated, one.name))
    rows = [(one.name, _number(one.cumulated), f"{one.cumulated_share:.1%}") for one in found if one.name not in hidden]
    yield from ("The same with all that they call; functions that only hand on to one other are left out:", "")
    yield from _table(("function", f"cumulated, ms a {unit}", "share"), rows[:ROWS])


def _changed(profile: Profile, arm: str) -> Iterator[str]:
    """Tell what costs more than in the baseline, and so clearly that samples cannot be to blame."""
    baseline, taken = profile.arms[profile.baseline], profile.arms[arm]
    changes = difference(profile, profile.baseline, arm)
    hidden = on_the_way(taken) | NAMELESS.keys()
    own = [one for one in changes if one.own_is_clear and one.own > 0 and one.name not in NAMELESS]
    cumulated = [one for one in changes if one.cumulated_is_clear and one.cumulated > 0 and one.name not in hidden]
    yield from wrap(
        f"A {taken.unit} cost {_number(taken.cpu_ms)} ms here, {_number(baseline.cpu_ms)} ms in `{profile.baseline}`. "
        + ("What cost" if own or cumulated else "No single function cost")
        + " more than there, beyond what samples can tell"
        + (" (three standard errors):" if own or cumulated else "."),
        LINE,
    )
    if own:
        rows = [(one.name, f"+{_number(one.own)}", f"± {_number(one.own_doubt)}") for one in own]
        yield from ("", *_table(("function", f"own, ms a {taken.unit} more", "doubt"), rows[:ROWS]))
    if cumulated:
        cumulated.sort(key=lambda one: (-one.cumulated, one.name))
        rows = [(one.name, f"+{_number(one.cumulated)}", f"± {_number(one.cumulated_doubt)}") for one in cumulated]
        yield from ("", *_table(("function", f"cumulated, ms a {taken.unit} more", "doubt"), rows[:ROWS]))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return lines + [f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"  # noqa: PLR2004  # more digits are noise
