"""Stacks: names without paths, CPU shared out to samples, sums that stay."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.profiling.frames import OTHER, UNSEEN, group, named
from evenkeel_lab.profiling.stacks import (
    Stack,
    costs_of,
    effective_samples,
    functions,
    largest,
    microseconds_per_sample,
    parse,
    pruned,
    separate_collections,
    with_unseen,
    without_launchers,
)
from evenkeel_lab.stack.probes.stacks_of_proxy import COLLECTION

NAMES = st.sampled_from(["a.py:f", "a.py:g", "b.py:f", "b.py:h", "c.py:k"])
STACKS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=6).map(tuple), st.integers(1, 10**6), min_size=1)


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("_f (/x/site-packages/litellm/proxy/utils.py)", "litellm/proxy/utils.py:_f"),
        ("E.dumps (/home/me/.pyenv/versions/3.11.7/lib/python3.11/json/encoder.py)", "json/encoder.py:E.dumps"),
        ("f (/opt/v/lib/python3.13/lib-dynload/_x.py)", "_x.py:f"),
        ("P.on (/home/me/cache/plugins/0.1-ab/litellm_evenkeel/proxy.py)", "litellm_evenkeel/proxy.py:P.on"),
        ("f.<locals>.<genexpr> (/home/me (copy)/secret/app.py)", "app.py:f.<locals>.<genexpr>"),
        ("<module> (/home/me/venv/bin/litellm)", "litellm:<module>"),
        ("_find (<frozen importlib._bootstrap>)", "<frozen importlib._bootstrap>:_find"),
        ("/home/me/secret", "secret"),
        ("f (app.py)", "app.py:f"),
    ],
)
def test_a_name_says_where_a_function_is_without_the_machines_paths(frame: str, name: str) -> None:
    assert named(frame) == name


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("litellm/router.py:f", "LiteLLM"),
        ("litellm/integrations/prometheus.py:f", "Prometheus"),
        ("litellm/integrations/prometheus_helpers/x.py:f", "Prometheus"),
        ("litellm_evenkeel/proxy.py:f", "evenkeel"),
        ("starlette/routing.py:Route.__call__", "web server"),
        ("json/encoder.py:f", "data"),
        ("asyncio/tasks.py:f", "standard library"),
        ("<frozen importlib._bootstrap>:f", "standard library"),
        ("rich/x.py:f", OTHER),
        (OTHER, OTHER),
        (UNSEEN, OTHER),
    ],
)
def test_a_function_belongs_to_whose_code_it_is(name: str, whose: str) -> None:
    assert group(name) == whose


def test_what_only_launches_is_left_out_but_never_all_of_it() -> None:
    main = "<module> (/v/bin/litellm);Command.main (/v/lib/python3.11/site-packages/click/core.py)"
    loop = "Runner.run (/usr/lib/python3.11/asyncio/runners.py)"
    assert without_launchers(f"{main};{loop};f (/a/site-packages/fastapi/x.py);{loop}") == (
        "fastapi/x.py:f",
        "asyncio/runners.py:Runner.run",
    )
    assert without_launchers(f"{main};{loop}") == ("asyncio/runners.py:Runner.run",)
    assert without_launchers("") == (UNSEEN,)


def test_a_thread_is_worth_the_cpu_that_it_has_spent_however_often_it_was_seen() -> None:
    told = parse(
        "thread (7): MainThread;f (/x/a.py);g (/x/a.py) 75\n"
        "thread (7): MainThread;f (/x/a.py) 25\n"
        "thread (8): idle_0;_worker (/usr/lib/python3.11/concurrent/futures/thread.py) 400\n"
        "thread (8): idle_0;_worker (/usr/lib/python3.11/concurrent/futures/thread.py);h (/x/b.py) 2\n"
        "thread (9): no frames 3\n"
        "nonsense\n"
    )
    assert sum(told.values()) == 505
    # The first was seen more often than it ran; the second was woken by samples, and worked in two of them.
    worth = microseconds_per_sample(told, {7: 0.8, 8: 0.5, 9: 0.0}, 100)
    assert worth == {7: pytest.approx(8_000), 8: pytest.approx(10_000), 9: 0}
    assert with_unseen(costs_of(told, worth), 1.0) == {
        ("a.py:f", "a.py:g"): 600_000,
        ("a.py:f",): 200_000,
        ("b.py:h",): 20_000,
        (UNSEEN,): 180_000,
    }
    assert 100 < effective_samples(told, worth) < 103
    assert effective_samples({}, {}) == 0


def test_collections_are_taken_from_what_they_interrupted() -> None:
    stacks = Counter({("a.py:f",): 100, ("a.py:f", "a.py:g"): 50})
    told = {"<module> (/x/bin/litellm);f (/x/a.py)": 30, "f (/x/a.py);g (/x/a.py)": 80, "h (/x/b.py)": 5}
    assert +separate_collections(stacks, told) == {("a.py:f",): 70, COLLECTION: 80}


@given(STACKS)
def test_own_costs_make_up_the_whole_and_are_within_the_cumulated_ones(stacks: dict[Stack, int]) -> None:
    whole = sum(stacks.values())
    found = functions(stacks)
    assert sum(one.own for one in found.values()) == whole
    assert all(0 <= one.own <= one.cumulated <= whole for one in found.values())


@given(STACKS, st.floats(0, 0.6))
def test_folding_keeps_the_sum_and_folds_the_same_only_once(stacks: dict[Stack, int], least: float) -> None:
    found = pruned(stacks, least)
    assert found.total() == sum(stacks.values())
    assert pruned(found, least) == found
    kept = {stack: spent for stack, spent in found.items() if stack[-1] != OTHER}
    within: Counter[Stack] = Counter()
    for stack, spent in found.items():
        for depth in range(1, len(stack) + 1):
            within[stack[:depth]] += spent
    assert all(within[stack] >= least * found.total() for stack in kept)
    small = largest(functions(stacks), least)
    assert sum(one.own for one in small.values()) == found.total()
    assert largest(small, least) == small
