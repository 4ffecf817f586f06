"""The profile section of a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.section import flame_graphs, section

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile


def shown(profile: Profile) -> dict[str, str]:
    return {name: f"![{name}]({name}.svg)" for name in flame_graphs(profile)}


def test_a_chapter_says_how_it_was_sampled_what_costs_and_what_costs_more(profile: Profile) -> None:
    lines = section(profile, shown(profile), "page")
    text = " ".join(lines)
    assert "No figure and no verdict contains that run" in lines[2]
    assert [line for line in lines if line.startswith("#")] == ["## Profiles", "### `off`", "### `stock`"]
    assert "Sampled by py-spy 0.4.3, 100 times a second for 15 s: 1,500 samples of 500 requests." in text
    assert "py-spy has no permission." in text
    assert "changed the duration of a request by +12% and its CPU time by +5%" in text
    assert "| `litellm/router.py:complete` | 12.0 | 60.0% |" in lines
    assert "A request cost 27.0 ms here, 20.0 ms in `off`." in text
    assert any(line.startswith("| `litellm/integrations/prometheus.py:log` | +7.00 | ±") for line in lines)
    assert set(shown(profile).values()) <= set(lines)
    assert "[The profile for speedscope](page/flame-stock.speedscope.json)" in lines
    assert "`mock` was not profiled: it is the mock." in lines
    assert all(len(line) <= 120 or line.startswith("|") for line in lines)


def test_two_arms_that_are_the_same_have_no_difference_to_show(profile: Profile) -> None:
    same = replace(profile, arms={"off": profile.arms["off"], "again": profile.arms["off"]})
    assert any("No single function cost more" in line for line in section(same, shown(same), "page"))


def test_without_a_profiled_baseline_nothing_is_compared(profile: Profile) -> None:
    alone = replace(profile, arms={"stock": profile.arms["stock"]})
    assert not any("here," in line for line in section(alone, shown(alone), "page"))
