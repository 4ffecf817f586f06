"""Content of a report page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.report.caveats import MEANINGS
from evenkeel_lab.report.index import index
from evenkeel_lab.report.page import markdown, page
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.report.report_data import report_data_of
from evenkeel_lab.runner.measurement.latency_summary import EDGES_MS
from evenkeel_lab.runner.warm_up import COLD
from evenkeel_lab.stats import Kind

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.tracing.traces import Traces

TEN_SECONDS_MS = 10_000.0
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


def page_of(summary: Summary, **changed: Any) -> str:
    return markdown(report_data_of(summary, **changed), {})


def folded(page: str) -> str:
    return " ".join(page.split())


def rows(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def judged(page: str) -> list[Kind]:
    """Return the kinds of verdict on a page, apart from their definitions in its method."""
    without_method = page.replace(section(page, "Method"), "")
    return [kind for kind in Kind if kind in without_method]


def test_a_page_begins_with_the_question_and_the_verdict(simulate: Any) -> None:
    title, _, question, _, verdict, *_ = page_of(simulate()).splitlines()
    assert title == "# What a callback costs"
    assert question == "**Is it slower?**"
    assert verdict.startswith("- **on** (with one): **material.** Median latency: +")
    assert "The whole interval is beyond the margin of 5.0 %." in folded(page_of(simulate()))


def test_an_invalid_session_is_marked_in_the_title_and_in_every_verdict(simulate: Any) -> None:
    figures = {"p50": {"margin": 0.05, "primary": True}, "cpu_ms": {"margin": 0.05}}
    page = page_of(simulate({"figures": figures}, effects={"again": 1.2}))
    assert page.startswith("# Invalid: What a callback costs\n\n**This session is invalid: do not use its results.**")
    assert "- noise: p50 differs between two proxies that are the same." in page
    assert "**on** (with one): **material, invalid.**" in page
    verdicts = [row[-1] for row in rows(section(page, "All metrics")) if str(Kind.MATERIAL) in row[-1]]
    assert verdicts == ["material (invalid)"] * 2


@pytest.mark.parametrize("pairs", [0, 1, 5])
def test_fewer_than_six_pairs_have_no_verdict(simulate: Any, pairs: int) -> None:
    page = page_of(simulate(pairs=pairs))
    assert "**no verdict.**" in page
    assert "**few-pairs**: on against off: " in page
    counted = f"{pairs} pair{'' if pairs == 1 else 's'}"
    assert f"**no-look**: The session was judged after {counted}, but 6 were declared beforehand." in folded(page)
    assert judged(page) == []


def test_a_session_without_a_valid_pair_has_no_verdict(simulate: Any) -> None:
    page = page_of(simulate(limited=lambda _pair, _arm: True))
    assert page.startswith("# Invalid: ")
    assert "There are no valid pairs; at least 6 are needed." in page
    assert judged(page) == []


def test_an_unknown_primary_metric_has_no_verdict(simulate: Any) -> None:
    figures = {"p99.9": {"margin": 0.2, "primary": True}, "p50": {"margin": 0.05}}
    page = folded(page_of(simulate({"figures": figures})))
    assert "**no verdict.** p99.9, which decides, has no value in some runs." in page
    assert "**unknown**: p99.9 has no value in some runs of off, on, again" in page
    assert "so 20,000 in a run" in page


def test_the_provenance_shows_how_versions_were_installed(simulate: Any) -> None:
    arms = {"off": {"about": "x", "litellm": "1.108.7"}, "on": {"about": "y", "litellm": "1.110.2"}}
    summary = simulate({"arms": arms})
    assert "| LiteLLM | 1.108.7, 1.110.2 |" in row_lines(section(page_of(summary), "Provenance"))
    about = {"1.108.7": "with its whole proxy extra", "1.110.2": "its main wheel, and its proxy extra by name"}
    installed = replace(summary, provenance=summary.provenance | {"installed": about})
    row = "| LiteLLM | 1.108.7, with its whole proxy extra; 1.110.2, its main wheel, and its proxy extra by name |"
    assert row in row_lines(section(page_of(installed), "Provenance"))


def row_lines(page: str) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in rows(page)]


def test_a_page_on_functions_does_not_mention_the_rig_or_litellm(simulate: Any) -> None:
    spec = {
        "arms": {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}},
        "figures": {"value": {"margin": 0.05, "primary": True}},
    }
    page = page_of(simulate(spec))
    assert "**on** (x): **material.**" in page
    assert "`evenkeel_lab.bench.verdicts.simulation:median`" in page
    assert "Noise and the cost of the test setup" not in page
    assert "LiteLLM" not in page + index([report_data_of(simulate(spec))], {})
    assert "mock" not in section(page, "Provenance")
    assert "Prisma" not in section(page, "Provenance")
    assert "**no-noise-floor**: The baseline was not measured against itself" in section(page, "Limits")


def test_the_value_of_a_function_is_shown_with_its_own_description_and_unit(simulate: Any) -> None:
    value = {"margin": 0.05, "primary": True, "about": "how long a pick takes", "unit": "us"}
    arms = {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}}
    page = page_of(simulate({"arms": arms, "figures": {"value": value}}))
    assert "- **value**: how long a pick takes" in page
    assert re.search(r"How long a pick takes: .* against `off`, [\d.,]+ us instead of [\d.,]+ us", folded(page))


ANSWERED = {"short": "It takes {case: on, p50} longer.", "advice": "Load *another* one."}


def test_a_short_answer_opens_the_page_and_is_in_the_index(simulate: Any) -> None:
    data = report_data_of(simulate(ANSWERED, effects={"on": 1.2}))
    page, (_, _, listed) = markdown(data, {}), rows(index([data], {}))
    assert "> **Asked:** Is it slower?\n>\n> **Measured:** It takes +" in page
    assert listed[0] == "[Is it slower?](case.md)"
    assert re.fullmatch(r"It takes \+\d.* % \[.*\] longer\.", listed[1])
    assert listed[2] in page


def test_without_a_valid_session_there_is_no_short_answer(simulate: Any) -> None:
    data = report_data_of(simulate(ANSWERED, pairs=2, limited=lambda *_: True))
    assert data.is_invalid
    assert "Asked" not in markdown(data, {})
    assert "It takes" not in index([data], {})


def test_a_part_of_a_whole_is_no_difference(simulate: Any) -> None:
    value = {"margin": 0.05, "primary": True, "is_part": True}
    arms = {"off": FUNCTION, "on": FUNCTION | {"arguments": {"shift": 1}}}
    page = folded(page_of(simulate({"arms": arms, "figures": {"value": value}})))
    assert re.search(r"\*\*on\*\* \(x\): \*\*a part\.\*\* Value: [\d.]+ % \[.*?\] of that of `off`", page)
    assert "material." not in page


@pytest.mark.parametrize("subject", [{"subject": "mock"}, FUNCTION])
def test_the_noise_floor_of_functions_and_mocks_is_an_arm_equal_to_the_baseline(
    simulate: Any, subject: dict[str, Any]
) -> None:
    figures = {"figures": {"value" if "function" in subject else "p50": {"margin": 0.05, "primary": True}}}
    off, on = subject | {"about": "x"}, subject | {"about": "y"}
    other = on | ({"arguments": {"a": 1}} if "function" in subject else {"workers": 2})
    assert "no-noise-floor" in page_of(simulate(figures | {"arms": {"off": off, "on": other}}))
    assert "no-noise-floor" not in page_of(simulate(figures | {"arms": {"off": off, "on": on}}))


def test_the_page_has_separate_commands_for_rendering_and_for_measuring_again(simulate: Any) -> None:
    part = section(page_of(simulate(), committed=True), "Reproduce")
    page, session = (block.partition("\n```")[0] for block in part.split("```console\n")[1:])
    assert page == "evenkeel report case"
    assert session == "git checkout 0123456789abcdef\nevenkeel investigate case --fresh"
    assert "this one took 3 minutes:" in folded(part)


@pytest.mark.parametrize(
    ("provenance", "why"),
    [
        ({"commit": "1", "dirty": True}, "with uncommitted changes"),
        ({"commit": "1", "later": [{"commit": "2"}]}, "resumed with another commit"),
        ({"commit": ""}, "is not known"),
    ],
)
def test_the_commands_do_not_check_out_an_ambiguous_commit(simulate: Any, provenance: dict[str, Any], why: str) -> None:
    part = section(page_of(simulate(provenance=provenance), committed=True), "Reproduce")
    assert "git checkout" not in part
    assert why in folded(part)


def test_a_flame_graph_names_its_command_but_is_not_drawn_from_a_summary(simulate: Any, profile: Profile) -> None:
    part = page(report_data_of(simulate(), profile=profile, committed=True)).markdown
    assert "*flame-on.svg, drawn by* `evenkeel report case`" in part
    assert "flame" not in section(part, "Reproduce")


def test_an_uncommitted_page_names_no_command_that_renders_it(simulate: Any) -> None:
    part = section(page_of(simulate()), "Reproduce")
    assert "evenkeel report case" not in part
    assert "evenkeel investigate case --fresh" in part


@pytest.mark.parametrize(("pairs", "words"), [(1, "took 36 seconds"), (6, "took 3 minutes")])
def test_the_duration_of_a_short_session_is_in_seconds(simulate: Any, pairs: int, words: str) -> None:
    assert words in folded(page_of(simulate(pairs=pairs)))


def test_a_count_of_one_has_the_singular(simulate: Any) -> None:
    page = folded(page_of(simulate(pairs=1)))
    assert "in 1 pair of runs" in page
    assert "on against off: 1 valid pair; at least 6 are needed." in page
    assert "judged after 1 pair, but" in page
    assert "1 pairs" not in page


@pytest.mark.parametrize(("bad", "words"), [((), "all of them count"), ((2,), "2 of the runs do not count")])
def test_the_alt_text_states_how_many_runs_count(simulate: Any, bad: tuple[int, ...], words: str) -> None:
    spec = {"arms": {name: {"about": name, "subject": "mock"} for name in ("off", "on")}}
    summary = simulate(spec, limited=lambda pair, arm: pair in bad and arm == "on")
    assert FIGURES["order"].alt(summary, report_data_of(summary).judgement).endswith(words)


def test_a_metric_of_zero_has_no_share(simulate: Any) -> None:
    summary = simulate()
    zero = {
        name: [replace(run, figures={**run.figures, "mean": 0.0}) for run in runs]
        for name, runs in summary.done.items()
    }
    part = section(page_of(replace(summary, done=zero)), "Noise and the cost of the test setup")
    assert ["mean", "0 ms", "0 ms", ""] in rows(part)


def test_an_impossible_start_time_has_no_date(simulate: Any) -> None:
    summary = simulate()
    far = {name: [replace(run, start_ns=10**40) for run in runs] for name, runs in summary.done.items()}
    assert "not known, 6 pairs" in page_of(replace(summary, done=far))


def test_a_baseline_alone_is_compared_with_a_second_one(simulate: Any) -> None:
    page = page_of(simulate({"arms": {"off": {"about": "alone"}}}))
    assert "- **again** (the baseline again): **no measurable difference.**" in page


def test_the_page_shows_the_noise_floor_and_the_mock_alone(simulate: Any) -> None:
    part = section(page_of(simulate()), "Noise and the cost of the test setup")
    assert "Two equal proxies, off and again, in 6 pairs: every difference here is noise." in " ".join(part.split())
    shares = {row[0]: row[-1] for row in rows(part.split("The mock provider alone")[1])}
    assert 15 < float(shares["p50"].removesuffix(" %")) < 25


def test_an_ablation_is_shown_part_by_part(simulate: Any) -> None:
    page = page_of(simulate(ABLATED, effects={"on": 1.25, "no-budgets": 1.05, "no-metrics": 1.2}))
    part = section(page, "The parts of the cost of on")
    parts = [row[:2] for row in rows(part)[2:]]
    assert parts[:3] == [["everything", ""], ["budgets", "no budgets"], ["metrics", "no metrics"]]
    assert parts[3][0] == "rest"
    assert "no-budgets against on: 6 pairs" in page
    few = section(page_of(simulate(ABLATED, pairs=3)), "The parts of the cost of on")
    assert "There are too few pairs. At least 6 valid ones with p50 are needed, of off and on, and of each arm" in few


def test_a_queue_is_shown_point_by_point(simulate: Any) -> None:
    arms = {name: {"about": name, "load": {"users": users}} for name, users in (("off", 20), ("one", 1), ("more", 60))}
    spec = {"arms": arms, "queue": {"arms": ["one", "off", "more"]}}
    data = report_data_of(simulate(spec, effects={"one": 0.2, "more": 3.0}))
    lines = rows(section(markdown(data, {}), "Queueing"))[2:]
    assert [row[:2] for row in lines] == [["one", "1"], ["off", "20"], ["more", "60"]]
    assert data.queueing is not None
    for point, row in zip(data.queueing.points, lines, strict=True):
        for server, cell in zip((data.queueing.measured, data.queueing.fitted), row[-2:], strict=True):
            latency = server.latency(point.users)
            assert cell.endswith(f"ms ({latency / point.latency - 1:+.0%})")
    assert "too few arms have valid runs" in section(page_of(simulate(spec, pairs=0)), "Queueing")


def test_database_operations_are_shown_per_request(simulate: Any) -> None:
    lines = rows(section(page_of(simulate()), "Database operations"))
    assert lines[0] == ["operation", "off", "on"]
    assert lines[2] == ["UserTable.findUnique", "0.00", "1.00"]
    assert "## Database operations" not in page_of(simulate(limited=lambda _pair, _arm: True))


def test_published_results_stand_beside_ours_with_a_verdict_on_the_published_runs(simulate: Any) -> None:
    expected = {"source": "a blog", "claim": "it costs a quarter", "arm": "on", "figures": {"p50": 0.9, "mean": 0.27}}
    page = page_of(simulate({"expected": [expected | {"runs": PUBLISHED}]}))
    part = section(page, "Published results")
    assert "above our interval" in part
    assert "not judged here" in part
    assert ["run", "off p95", "off mean", "on p95", "on mean"] in rows(part)
    assert ["1", "693 ms", "319 ms", "822 ms", "405 ms"] in rows(part)
    assert "+26.1 % [-2.8, +63.6]" in part
    assert "inconclusive: about 11 more pairs would settle it" in part


def test_a_single_published_run_has_no_verdict(simulate: Any) -> None:
    runs = {"off": {"mean": [10.33]}, "on": {"mean": [10.37], "p95": [12.0, 13.0]}}
    expected = {"source": "a blog", "claim": "3-5 % faster", "arm": "on", "runs": runs}
    part = section(page_of(simulate({"expected": [expected]})), "Published results")
    assert "no verdict: too few pairs: 1, of at least 6" in part


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({"off": {"mean": []}, "on": {"mean": []}}, "Their runs were not published"),
        ({"off": {}, "on": {}}, "Their runs were not published"),
        ({"off": {"mean": []}, "on": {"mean": [10.0]}}, "No metric was published of both arms"),
        ({"off": {"p95": [9.0]}, "on": {"mean": [10.0]}}, "No metric was published of both arms"),
    ],
)
def test_unpublished_runs_have_no_table(simulate: Any, runs: dict[str, Any], words: str) -> None:
    expected = {"source": "a blog", "claim": "3-5 % faster", "arm": "on", "runs": runs}
    part = section(page_of(simulate({"expected": [expected]})), "Published results")
    assert words in part
    assert all(len(rows(part)) > 2 for part in part.split("\n\n") if part.startswith("| "))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"warm_up": {"on": {"costs": [90, 40, 52, 47], "steady": False}}},
            "not-warm: The CPU time of a request still varied from 40 to 52 ms when the warm-up of on ended.",
        ),
        # Proxies that are booted for each pair have no recorded windows.
        (
            {"limited": lambda pair, arm: (pair, arm) == (2, "on"), "why": COLD},
            "not-warm: These pairs do not count, because one of their proxies was not warm: 2 of off and on.",
        ),
        ({"provenance": {"commit": "", "dirty": False}}, "no-commit: "),
        ({"provenance": {"commit": "1", "dirty": True}}, "dirty: "),
        ({"provenance": {"commit": "1", "engine": "stand-in"}}, "stand-in: "),
        ({"provenance": {"commit": "1", "later": [{"dirty": True}]}}, "dirty: "),
        (
            {"provenance": {"commit": "1", "later": [{"commit": "2", "kernel": "6"}]}},
            "resumed: The session was interrupted, and these changed before it was resumed: commit, kernel.",
        ),
        ({"spec": {"session": {"looks": [6], "noise": False}}}, "no-noise-floor: "),
        ({"spec": {"figures": {"p50": {"margin": 0.001, "primary": True}}}}, "noisy: "),
        ({"waited": 0.5}, "crowded: The proxies waited for a core: off for 50 %, on for 50 %"),
        (
            {"climb": 0.7},
            "unsteady: Between the first and the second half of a run, the median of off, on, again, direct",
        ),
        ({"pinned": False}, "no-duets: 12 of 12 pairs ran one after the other instead of at the same time"),
        ({"limited": lambda pair, arm: (pair, arm) == (2, "on")}, "rig-limited: Pair 2, on: requests were sent late."),
    ],
)
def test_every_caveat_has_a_name(simulate: Any, changed: dict[str, Any], expected: str) -> None:
    page = page_of(simulate(**changed))
    name, _, says = expected.partition(":")
    assert f"**{name}**:{says}" in folded(section(page, "Limits"))
    assert name in MEANINGS
    assert name in folded(page).partition("## Method")[0]


def test_a_page_begins_with_the_burst_at_the_start_of_its_runs(simulate: Any) -> None:
    def starved(summary: Summary) -> Summary:
        """Make the requests in the first twentieth of each run take ten seconds."""
        for sketch in (sketch for of_pair in summary.sketches.values() for sketch in of_pair.values()):
            first = sum(sketch.over_time[0])
            sketch.over_time[0] = [first * (abs(edge - TEN_SECONDS_MS) < 1.0) for edge in EDGES_MS[:-1]]
        return summary

    page = folded(page_of(starved(simulate()))).partition("## ")[0]
    assert "**Note:** All clients of a run begin at the same moment," in page
    slow = ", ".join(f"{arm} (100 %, later 0.0 %)" for arm in ("off", "on", "again"))
    assert f"took more than 5.6 s: {slow}." in page
    assert "**Note:**" not in page_of(simulate())
    judged = {"figures": {"first_above_5s": {"margin": 0.01, "primary": True}}}
    assert "**Note:**" not in page_of(starved(simulate(judged)))


def test_the_method_states_how_proxies_are_warmed_up_and_loaded(simulate: Any) -> None:
    def method(**spec: Any) -> str:
        return folded(section(page_of(simulate(spec)), "Method"))

    assert "Each proxy has been warmed up." in method()
    cold = {"looks": [6], "warm_up": 0.0}
    assert "Each proxy has just been booted." in method(session=cold)
    arms = {"off": {"about": "x"}, "on": {"about": "x", "warm_up": 5.0, "load": {"users": 3}}}
    spec = method(session=cold, arms=arms)
    assert "just been booted. Arms with another warm-up or load have it in the table." in spec
    assert "warmed up, load: users 3" in spec
    assert "Requests of arms without a load of their own:" in spec


def test_a_changed_investigation_file_is_a_caveat(simulate: Any) -> None:
    summary = simulate()
    assert "**changed**" not in section(page_of(summary, present=summary.investigation), "Limits")
    present = simulate({"figures": {"p50": {"margin": 0.1, "primary": True}}}).investigation
    assert "**changed**: The file has been changed since the measurement." in page_of(summary, present=present)


def test_wording_is_taken_from_the_file_but_the_hypothesis_from_the_summary(simulate: Any) -> None:
    words = {"title": "In other words", "question": "Is it still?"}
    summary = simulate()
    page = page_of(summary, present=simulate(words).investigation)
    assert page.startswith("# In other words\n\n**Is it still?**\n")
    assert "**changed**" not in page
    believed = simulate({"hypothesis": "Of course."}).investigation
    assert "**changed**" in page_of(summary, present=believed)
    assert "Of course." not in page_of(summary, present=believed)


@pytest.mark.parametrize(
    ("pace", "expected"), [(100.0, "divided by the throughput"), (10.0, "most of a latency is the")]
)
def test_the_limits_explain_latency_if_clients_send_again_at_once(simulate: Any, pace: float, expected: str) -> None:
    figures = {"p50": {"margin": 0.05, "primary": True}, "throughput": {"margin": 0.05}, "cpu_ms": {"margin": 0.05}}
    summary = simulate({"figures": figures, "load": {"duration": 30.0}, "session": {"design": "duets", "looks": [6]}})
    for runs in summary.done.values():
        for run in runs:
            run.figures.update(throughput=pace, cpu_ms=10.0)
    assert expected in folded(section(page_of(summary), "Limits"))


def test_markup_in_an_investigation_file_is_escaped(simulate: Any) -> None:
    nasty = "a | b\n\n# c <script>x</script> [d](e) *f* `g|h` &amp; _i_ \\| j"
    spec = {
        "title": nasty,
        "question": nasty,
        "arms": {"off": {"about": nasty, "settings": {"a|b": "`<x>`\n"}}, "on": {"about": nasty}},
        "expected": [{"source": nasty, "claim": nasty, "arm": "on", "figures": {"p50": 0.1}}],
    }
    page = page_of(simulate(spec))
    assert "<script" not in page.replace("\\<script", "")
    assert "\n# c" not in page
    (arms,) = (part for part in page.split("\n\n") if part.startswith("| arm "))
    _, rule, *below = arms.splitlines()
    assert len(below) == 4
    assert {row.replace(r"\|", "").count("|") for row in below} == {rule.count("|")}


def test_traces_are_a_table_and_a_plot(simulate: Any, traces: Traces) -> None:
    rendered = page(report_data_of(simulate(), traces=traces, committed=True))
    part = rendered.markdown.partition("## What requests waited for")[2].partition("\n## ")[0]
    assert "The traces were recorded with another version" in part
    row = next(line for line in part.splitlines() if line.startswith("| `stock` | the slowest 10 "))
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[3:9] == ["9.56", "0.02", "9.45", "0.01", "0.05", "0.03"]
    assert "the longest: stock 10.0 s, lean 0.1 s" in part
    assert rendered.figures["waits"].startswith("<?xml")
