"""Metrics and log of the plugin that are read during a fault."""

from __future__ import annotations

from evenkeel_lab.chaos.watch import PICKS, Samples, changed, crashes, is_of_plugin, picks


def buckets(counts: dict[str, float]) -> Samples:
    return {(PICKS, (("le", bound),)): count for bound, count in counts.items()}


def test_a_metric_has_changed_if_a_sample_is_new_or_has_another_value() -> None:
    before: Samples = {("a", ()): 1.0, ("b", (("x", "1"),)): 2.0}
    assert not changed(before, before, "a")
    assert changed(before, {("a", ()): 0.0}, "a")
    assert changed(before, {("b", (("x", "2"),)): 0.0}, "b")
    assert not changed(before, {("a", ()): 0.0}, "b")
    # A request that succeeds shows no fault.
    assert not changed(before, {("a", (("outcome", "success"),)): 5.0}, "a")
    assert changed(before, {("a", (("outcome", "transient"),)): 1.0}, "a")


def test_picks_of_before_the_cell_do_not_count() -> None:
    before, after = buckets({"0.001": 10, "+Inf": 1000}), buckets({"0.001": 110, "0.0025": 5, "+Inf": 1100})
    assert picks(before, after) == {"0.001": 100, "0.0025": 5, "+Inf": 100}


def test_a_path_of_the_labs_cache_does_not_make_a_line_one_of_the_plugins() -> None:
    assert is_of_plugin("evenkeel: Redis for shared limits is unavailable (TimeoutError).")
    assert is_of_plugin('  File "/venv/site-packages/litellm_evenkeel/rotation/router.py", line 1, in pick')
    assert not is_of_plugin('  File "/home/.cache/litellm-evenkeel/subjects/litellm/router.py", line 1, in pick')
    assert not is_of_plugin('INFO: 127.0.0.1 - "GET /evenkeel/metrics HTTP/1.1" 200 OK')


def test_each_crash_has_the_stack_trace_of_its_worker() -> None:
    first, second = "Fatal Python error: Segmentation fault\n  File a\n", "Fatal Python error: Bus error\n  File b\n"
    assert crashes(f"INFO: started\n{first}{second}") == [first, second]
    assert crashes("INFO: started\n") == []
