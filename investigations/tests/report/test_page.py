"""What a page says, and what it never says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.report.index import index
from evenkeel_lab.report.page import markdown, page
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.report.report_data import case_of
from evenkeel_lab.runner.warm_up import COLD
from evenkeel_lab.stats import Kind

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.runner.results.summary import Summary

FUNCTION = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.verdicts.simulation:median"}
PUBLISHED = {
    "on": {"mean": [405, 442, 511, 381, 318, 393], "p95": [822, 887, 1131, 952, 565, 1106]},
    "off": {"mean": [319, 328, 276, 376, 347, 288], "p95": [693, 696, 540, 741, 580, 598]},
}
ABLATED: dict[str, Any] = {
    "arms": {name: {"about": name} for name in ("off", "on", "no-budgets", "no-metrics")},
    "ablation": {
        "full": "on",
        "switches": {
            "budgets": {"about": "no budgets", "arm": "no-budgets"},
            "metrics": {"about": "no metrics", "arm": "no-metrics"},
        },
    },
}


def said(summary: Summary, **changed: Any) -> str:
    return markdown(case_of(summary, **changed), {})


def folded(page: str) -> str:
    return " ".join(page.split())


def rows(told: str) -> list[list[str]]:
    lines = [line for line in told.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def judged(page: str) -> list[Kind]:
    """Return the verdicts of a page: its method says what each of them means."""
    others = page.replace(section(page, "Method"), "")
    return [kind for kind in Kind if kind in others]


def test_question_and_verdict_come_first(simulate: Any) -> None:
    title, _, question, _, verdict, *_ = said(simulate()).splitlines()
    assert title == "# What a callback costs"
    assert question == "**Is it slower?**"
    assert verdict.startswith("- **on** (with one): **material.** Its p50 is ")
    assert "From 5.0 % on a difference matters" in folded(said(simulate()))


def test_an_invalid_session_says_so_in_its_first_line_and_marks_every_verdict(simulate: Any) -> None:
    figures = {"p50": {"margin": 0.05, "primary": True}, "cpu_ms": {"margin": 0.05}}
    page = said(simulate({"figures": figures}, effects={"again": 1.2}))
    assert page.startswith("# Invalid: What a callback costs\n\n**Nothing in this session is to be believed")
    assert "- noise: p50 differs between two proxies that are the same." in page
    assert "**on** (with one): **material, not to be believed.**" in page
    verdicts = [row[-1] for row in rows(section(page, "All figures")) if str(Kind.MATERIAL) in row[-1]]
    assert verdicts == ["material (not to be believed)"] * 2


@pytest.mark.parametrize("pairs", [0, 1, 5])
def test_fewer_than_six_pairs_have_no_verdict(simulate: Any, pairs: int) -> None:
    page = said(simulate(pairs=pairs))
    assert "**no verdict.**" in page
    assert "**few-pairs**: on against off: " in page
    assert (
        f"**no-look**: The session was judged after {pairs} pair{'' if pairs == 1 else 's'}; declared beforehand: 6."
        in folded(page)
    )
    assert judged(page) == []


def test_without_any_valid_pair_nothing_is_said(simulate: Any) -> None:
    page = said(simulate(limited=lambda _pair, _arm: True))
    assert page.startswith("# Invalid: ")
    assert "There are no valid pairs, of at least 6." in page
    assert judged(page) == []


def test_a_figure_that_decides_and_cannot_be_told_has_no_verdict(simulate: Any) -> None:
    figures = {"p99.9": {"margin": 0.2, "primary": True}, "p50": {"margin": 0.05}}
    page = folded(said(simulate({"figures": figures})))
    assert "**no verdict.** Its p99.9, which decides, cannot be told in every run." in page
    assert "**untold**: p99.9 cannot be told in every run of off, on, again" in page
    assert "that is 20,000 in a run" in page


def test_how_a_version_was_installed_is_said_where_it_is_known(simulate: Any) -> None:
    arms = {"off": {"about": "x", "litellm": "1.108.7"}, "on": {"about": "y", "litellm": "1.110.2"}}
    found = simulate({"arms": arms})
    assert "| LiteLLM | 1.108.7, 1.110.2 |" in rows_of(section(said(found), "Provenance"))
    about = {"1.108.7": "with its whole proxy extra", "1.110.2": "its main wheel, and its proxy extra by name"}
    told = replace(found, provenance=found.provenance | {"installed": about})
    row = "| LiteLLM | 1.108.7, with its whole proxy extra; 1.110.2, its main wheel, and its proxy extra by name |"
    assert row in rows_of(section(said(told), "Provenance"))


def rows_of(told: str) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in rows(told)]


def test_functions_need_no_rig(simulate: Any) -> None:
    told = {
        "arms": {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}},
        "figures": {"value": {"margin": 0.05, "primary": True}},
    }
    page = said(simulate(told))
    assert "**on** (x): **material.**" in page
    assert "`evenkeel_lab.bench.verdicts.simulation:median`" in page
    assert "What the rig can tell" not in page
    assert "LiteLLM" not in page + index([case_of(simulate(told))], {})
    assert "mock" not in section(page, "Provenance")
    assert "Prisma" not in section(page, "Provenance")
    assert "**no-noise-floor**: The baseline was not measured against itself" in section(page, "Limits")


def test_what_a_function_measures_is_said_in_its_own_words_and_unit(simulate: Any) -> None:
    value = {"margin": 0.05, "primary": True, "about": "how long a pick takes", "unit": "us"}
    arms = {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}}
    page = said(simulate({"arms": arms, "figures": {"value": value}}))
    assert "- **value**: how long a pick takes" in page
    assert re.search(r"Its value is .* than that of `off`, [\d.,]+ us against [\d.,]+ us", folded(page))


def test_a_part_of_a_whole_is_no_difference(simulate: Any) -> None:
    value = {"margin": 0.05, "primary": True, "is_part": True}
    arms = {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}}
    page = folded(said(simulate({"arms": arms, "figures": {"value": value}})))
    assert re.search(r"\*\*on\*\* \(x\): \*\*a part\.\*\* Its value is [\d.]+ % \[.*?\] of that of `off`", page)
    assert "material." not in page


@pytest.mark.parametrize("told", [{"subject": "mock"}, FUNCTION])
def test_only_an_arm_that_is_the_same_is_a_noise_floor_of_what_is_no_proxy(simulate: Any, told: dict[str, Any]) -> None:
    figures = {"figures": {"value" if "function" in told else "p50": {"margin": 0.05, "primary": True}}}
    off, on = told | {"about": "x"}, told | {"about": "y"}
    other = on | ({"arguments": {"a": 1}} if "function" in told else {"workers": 2})
    assert "no-noise-floor" in said(simulate(figures | {"arms": {"off": off, "on": other}}))
    assert "no-noise-floor" not in said(simulate(figures | {"arms": {"off": off, "on": on}}))


def test_how_to_make_the_page_and_how_to_measure_anew_are_told_apart(simulate: Any) -> None:
    told = section(said(simulate(), committed=True), "How to reproduce it")
    page, session = (part.partition("\n```")[0] for part in told.split("```console\n")[1:])
    assert page == "evenkeel report case"
    assert session == "git checkout 0123456789abcdef\nevenkeel investigate case --fresh"
    assert "this one took 3 minutes on the machine below" in folded(told)


@pytest.mark.parametrize(
    ("provenance", "why"),
    [
        ({"commit": "1", "dirty": True}, "with changes beside its commit"),
        ({"commit": "1", "later": [{"commit": "2"}]}, "went on with another commit"),
        ({"commit": ""}, "is not known"),
    ],
)
def test_no_commit_is_checked_out_that_a_session_was_not_measured_with(
    simulate: Any, provenance: dict[str, Any], why: str
) -> None:
    told = section(said(simulate(provenance=provenance), committed=True), "How to reproduce it")
    assert "git checkout" not in told
    assert why in folded(told)


def test_a_flame_graph_names_its_command_and_is_no_figure_of_a_summary(simulate: Any, profile: Profile) -> None:
    told = page(case_of(simulate(), profile=profile, committed=True)).markdown
    assert "*flame-on.svg, drawn by* `evenkeel report case`" in told
    assert "flame" not in section(told, "How to reproduce it")


def test_a_page_that_is_not_committed_is_not_made_by_a_command(simulate: Any) -> None:
    told = section(said(simulate()), "How to reproduce it")
    assert "evenkeel report case" not in told
    assert "evenkeel investigate case --fresh" in told


@pytest.mark.parametrize(("pairs", "words"), [(1, "took 36 seconds on"), (6, "took 3 minutes on")])
def test_a_short_session_is_told_in_seconds(simulate: Any, pairs: int, words: str) -> None:
    assert words in folded(said(simulate(pairs=pairs)))


def test_one_is_no_plural(simulate: Any) -> None:
    page = folded(said(simulate(pairs=1)))
    assert "in 1 pair of runs for each two arms" in page
    assert "on against off: 1 valid pair, of at least 6." in page
    assert "judged after 1 pair;" in page
    assert "loaded in the same way once" in page
    assert "1 pairs" not in page


@pytest.mark.parametrize(("bad", "words"), [((), "all of them count"), ((2,), "2 of the runs do not count")])
def test_how_many_runs_count_is_told(simulate: Any, bad: tuple[int, ...], words: str) -> None:
    told = {"arms": {name: {"about": name, "subject": "mock"} for name in ("off", "on")}}
    summary = simulate(told, limited=lambda pair, arm: pair in bad and arm == "on")
    assert FIGURES["order"].alt(summary, case_of(summary).judgement).endswith(words)


def test_figures_of_zero_have_no_share(simulate: Any) -> None:
    summary = simulate()
    zero = {
        name: [replace(run, figures={**run.figures, "mean": 0.0}) for run in runs]
        for name, runs in summary.done.items()
    }
    told = section(said(replace(summary, done=zero)), "What the rig can tell")
    assert ["mean", "0 ms", "0 ms", ""] in rows(told)


def test_a_moment_that_no_calendar_has_is_no_day(simulate: Any) -> None:
    summary = simulate()
    far = {name: [replace(run, start_ns=10**40) for run in runs] for name, runs in summary.done.items()}
    assert "not known, 6 pairs" in said(replace(summary, done=far))


def test_a_baseline_alone_is_judged_against_its_twin(simulate: Any) -> None:
    page = said(simulate({"arms": {"off": {"about": "alone"}}}))
    assert "- **again** (the baseline once more): **no measurable difference.**" in page


def test_the_noise_floor_and_the_mock_alone_are_told(simulate: Any) -> None:
    told = section(said(simulate()), "What the rig can tell")
    assert "Noise floor: off against a second proxy that is the same, 6 pairs." in told
    shares = {row[0]: row[-1] for row in rows(told.split("The mock alone")[1])}
    assert 15 < float(shares["p50"].removesuffix(" %")) < 25


def test_an_ablation_is_told_part_by_part(simulate: Any) -> None:
    page = said(simulate(ABLATED, effects={"on": 1.25, "no-budgets": 1.05, "no-metrics": 1.2}))
    told = section(page, "What the cost of on is made of")
    parts = [row[:2] for row in rows(told)[2:]]
    assert parts[:3] == [["all of it", ""], ["budgets", "no budgets"], ["metrics", "no metrics"]]
    assert parts[3][0] == "rest"
    assert "no-budgets against on: 6 pairs" in page
    few = section(said(simulate(ABLATED, pairs=3)), "What the cost of on is made of")
    assert "Nothing is attributed: it takes at least 6 valid pairs, with their p50, of off and on, and of each" in few


def test_a_queue_is_told_point_by_point(simulate: Any) -> None:
    arms = {name: {"about": name, "load": {"users": users}} for name, users in (("off", 20), ("one", 1), ("more", 60))}
    told = {"arms": arms, "queue": {"arms": ["one", "off", "more"]}}
    case = case_of(simulate(told, effects={"one": 0.2, "more": 3.0}))
    found = rows(section(markdown(case, {}), "Queueing"))[2:]
    assert [row[:2] for row in found] == [["one", "1"], ["off", "20"], ["more", "60"]]
    assert case.queueing is not None
    for point, row in zip(case.queueing.points, found, strict=True):
        for server, cell in zip((case.queueing.measured, case.queueing.fitted), row[-2:], strict=True):
            latency = server.latency(point.users)
            assert cell.endswith(f"ms ({latency / point.latency - 1:+.0%})")
    assert "Too few of its arms have runs" in section(said(simulate(told, pairs=0)), "Queueing")


def test_what_is_asked_of_the_database_is_told_by_operation(simulate: Any) -> None:
    found = rows(section(said(simulate()), "Database operations"))
    assert found[0] == ["operation", "off", "on"]
    assert found[2] == ["UserTable.findUnique", "0.00", "1.00"]
    assert "## Database operations" not in said(simulate(limited=lambda _pair, _arm: True))


def test_what_others_found_stands_beside_ours_and_their_runs_are_judged(simulate: Any) -> None:
    expected = {"source": "a blog", "claim": "it costs a quarter", "arm": "on", "figures": {"p50": 0.9, "mean": 0.27}}
    page = said(simulate({"expected": [expected | {"runs": PUBLISHED}]}))
    told = section(page, "What others found")
    assert "above our interval" in told
    assert "not judged here" in told
    assert ["run", "off p95", "off mean", "on p95", "on mean"] in rows(told)
    assert ["1", "693 ms", "319 ms", "822 ms", "405 ms"] in rows(told)
    assert "+26.1 % [-2.8, +63.6]" in told
    assert "inconclusive: 11 further pairs would probably settle it" in told


def test_one_published_run_is_no_basis_for_a_claim(simulate: Any) -> None:
    runs = {"off": {"mean": [10.33]}, "on": {"mean": [10.37], "p95": [12.0, 13.0]}}
    expected = {"source": "a blog", "claim": "3-5 % faster", "arm": "on", "runs": runs}
    told = section(said(simulate({"expected": [expected]})), "What others found")
    assert "no verdict: too few pairs: 1, of at least 6" in told


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({"off": {"mean": []}, "on": {"mean": []}}, "Their runs were not published"),
        ({"off": {}, "on": {}}, "Their runs were not published"),
        ({"off": {"mean": []}, "on": {"mean": [10.0]}}, "No figure was published of both arms"),
        ({"off": {"p95": [9.0]}, "on": {"mean": [10.0]}}, "No figure was published of both arms"),
    ],
)
def test_runs_that_were_not_published_make_no_table(simulate: Any, runs: dict[str, Any], words: str) -> None:
    expected = {"source": "a blog", "claim": "3-5 % faster", "arm": "on", "runs": runs}
    told = section(said(simulate({"expected": [expected]})), "What others found")
    assert words in told
    assert all(len(rows(part)) > 2 for part in told.split("\n\n") if part.startswith("| "))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"warm_up": {"on": {"costs": [90, 40, 52, 47], "steady": False}}},
            "not-warm: What a request cost on still varied, from 40 to 52 ms",
        ),
        # Of what is booted for each pair, nobody has kept the windows.
        (
            {"limited": lambda pair, arm: (pair, arm) == (2, "on"), "why": COLD},
            "not-warm: These pairs do not count, as one of their proxies was not warm yet: 2 of off and on.",
        ),
        ({"provenance": {"commit": "", "dirty": False}}, "no-commit: "),
        ({"provenance": {"commit": "1", "dirty": True}}, "dirty: "),
        ({"provenance": {"commit": "1", "engine": "stand-in"}}, "stand-in: "),
        ({"provenance": {"commit": "1", "later": [{"dirty": True}]}}, "dirty: "),
        (
            {"provenance": {"commit": "1", "later": [{"commit": "2", "kernel": "6"}]}},
            "resumed: This was stopped and went on with something else than it began with: commit, kernel.",
        ),
        ({"told": {"session": {"looks": [6], "noise": False}}}, "no-noise-floor: "),
        ({"told": {"figures": {"p50": {"margin": 0.001, "primary": True}}}}, "noisy: "),
        ({"waited": 0.5}, "crowded: The proxies stood in line for a core: off for 50 %, on for 50 %"),
        ({"climb": 0.7}, "unsteady: From the first half of a run to the second the median of off, on, again, direct"),
        ({"pinned": False}, "no-duets: 12 of 12 pairs were no duets"),
        ({"limited": lambda pair, arm: (pair, arm) == (2, "on")}, "rig-limited: Pair 2, on: requests were sent late."),
    ],
)
def test_every_doubt_has_a_name(simulate: Any, changed: dict[str, Any], told: str) -> None:
    page = said(simulate(**changed))
    name, _, says = told.partition(":")
    assert f"**{name}**:{says}" in folded(section(page, "Limits"))
    assert name in folded(page).partition("## Method")[0]


def test_what_a_run_finds_is_told(simulate: Any) -> None:
    def method(**told: Any) -> str:
        return folded(section(said(simulate(told)), "Method"))

    assert "met warm, after a load that does not count. An effect" in method()
    cold = {"looks": [6], "warm_up": 0.0}
    assert "met when it has just been booted. An effect" in method(session=cold)
    arms = {"off": {"about": "x"}, "on": {"about": "x", "warm_up": 5.0, "load": {"users": 3}}}
    told = method(session=cold, arms=arms)
    assert "just been booted. Where an arm is met or loaded otherwise, that stands beside it." in told
    assert "met warm, sent users 3" in told
    assert "Requests, where nothing else stands beside the arm:" in told


def test_a_file_that_was_changed_since_is_told(simulate: Any) -> None:
    summary = simulate()
    assert "**changed**" not in section(said(summary, present=summary.investigation), "Limits")
    present = simulate({"figures": {"p50": {"margin": 0.1, "primary": True}}}).investigation
    assert "**changed**: The file has been changed since this was measured." in said(summary, present=present)


def test_words_are_said_as_the_file_says_them_now_but_not_what_was_believed(simulate: Any) -> None:
    words = {"title": "In other words", "question": "Is it still?"}
    summary = simulate()
    page = said(summary, present=simulate(words).investigation)
    assert page.startswith("# In other words\n\n**Is it still?**\n")
    assert "**changed**" not in page
    believed = simulate({"hypothesis": "Of course."}).investigation
    assert "**changed**" in said(summary, present=believed)
    assert "Of course." not in said(summary, present=believed)


@pytest.mark.parametrize(("pace", "told"), [(100.0, "divided by what it bears"), (10.0, "most of a latency is the")])
def test_what_a_latency_is_where_clients_send_again_at_once_is_told(simulate: Any, pace: float, told: str) -> None:
    figures = {"p50": {"margin": 0.05, "primary": True}, "throughput": {"margin": 0.05}, "cpu_ms": {"margin": 0.05}}
    summary = simulate({"figures": figures, "load": {"duration": 30.0}, "session": {"design": "duets", "looks": [6]}})
    for runs in summary.done.values():
        for run in runs:
            run.figures.update(throughput=pace, cpu_ms=10.0)
    assert told in folded(section(said(summary), "Limits"))


def test_what_a_file_says_stays_text(simulate: Any) -> None:
    nasty = "a | b\n\n# c <script>x</script> [d](e) *f* `g|h` &amp; _i_ \\| j"
    told = {
        "title": nasty,
        "question": nasty,
        "arms": {"off": {"about": nasty, "settings": {"a|b": "`<x>`\n"}}, "on": {"about": nasty}},
        "expected": [{"source": nasty, "claim": nasty, "arm": "on", "figures": {"p50": 0.1}}],
    }
    page = said(simulate(told))
    assert "<script" not in page.replace("\\<script", "")
    assert "\n# c" not in page
    (arms,) = (part for part in page.split("\n\n") if part.startswith("| arm "))
    _, rule, *below = arms.splitlines()
    assert len(below) == 4
    assert {row.replace(r"\|", "").count("|") for row in below} == {rule.count("|")}
