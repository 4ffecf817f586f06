"""Events through LiteLLM's own callback, ours and one that is wrong: exactly its faults are found."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from evenkeel_lab.bench.prometheus_callback import replay_setups
from evenkeel_lab.bench.prometheus_callback.differential import STOCK, compare_callbacks
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED, ReplaySetup, preloaded, start_replay
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Kind
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.bench.prometheus_callback.events import Event

WRONG = "wrong:Wrong"
FEW, SOME, MANY = 150, 800, 2_000


@pytest_asyncio.fixture(scope="module")
async def own() -> AsyncIterator[ReplaySetup]:
    """LiteLLM without its proxy, imported once. It can import the callbacks beside this file."""
    setup = ReplaySetup(Path(sys.executable), (Path(__file__).parent,), bare=True)
    async with preloaded(setup) as running:
        yield running


@pytest.mark.slow
async def test_only_the_faults_of_a_wrong_callback_are_found(own: ReplaySetup, recorded: list[Event]) -> None:
    comparison = await compare_callbacks(own, recorded, FEW, arms=(STOCK, WRONG))
    families = {difference.family for difference in comparison.undocumented}
    assert {
        "litellm_cache_misses_metric",
        "litellm_cache_hits_metric",
        "litellm_total_tokens_metric",
        "litellm_deployment_failure_responses",
        "litellm_llm_api_failed_requests_metric",
    } <= families
    assert not families & {"litellm_requests_metric", "litellm_spend_metric", "litellm_proxy_failed_requests_metric"}
    assert comparison.series > 1_000


async def test_a_failed_replay_states_its_reason(own: ReplaySetup, recorded: list[Event]) -> None:
    with pytest.raises(RigFailure, match="nowhere"):
        async with start_replay(own, "nowhere:Nothing", recorded[:1]):
            pass


@pytest.mark.parametrize("settings", ["none", "several workers", "short lives, always looked at"])
async def test_our_scrape_equals_stocks(own: ReplaySetup, recorded: list[Event], settings: str) -> None:
    comparison = await compare_callbacks(own, recorded, FEW, settings)
    assert not comparison.undocumented, comparison


async def test_settings_that_both_reject_are_rejected_with_the_same_message(
    own: ReplaySetup, recorded: list[Event]
) -> None:
    comparison = await compare_callbacks(own, recorded, FEW, "buckets out of order")
    assert (comparison.series, list(comparison.undocumented)) == (0, [])
    # A callback that accepts the settings, or rejects them with another message, differs.
    comparison = await compare_callbacks(own, recorded, FEW, "buckets out of order", arms=(STOCK, "noop"))
    (difference,) = comparison.undocumented
    assert (difference.kind, difference.first, difference.second) == (Kind.CRITICAL, "Buckets not in sorted order", "")


@pytest_asyncio.fixture(scope="module")
async def server() -> AsyncIterator[ReplaySetup]:
    """LiteLLM without its proxy, imported once: settings belong to the callback."""
    setup = (await replay_setups((RECORDED,)))[RECORDED]
    async with preloaded(replace(setup, bare=True)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("settings", [name for name in MATRIX if name != "none"])
async def test_our_scrape_equals_stocks_under_all_settings(
    server: ReplaySetup, recorded: list[Event], settings: str
) -> None:
    comparison = await compare_callbacks(server, recorded, SOME, settings)
    assert not comparison.undocumented, comparison


@pytest.mark.slow
@pytest.mark.thorough
async def test_our_scrape_equals_stocks_in_a_proxy(recorded: list[Event]) -> None:
    setup = (await replay_setups((RECORDED,)))[RECORDED]
    comparison = await compare_callbacks(setup, recorded, MANY)
    assert not comparison.undocumented, comparison


@pytest.mark.slow
@pytest.mark.thorough
async def test_stock_does_not_differ_from_itself(recorded: list[Event]) -> None:
    setup = (await replay_setups((RECORDED,)))[RECORDED]
    comparison = await compare_callbacks(setup, recorded, SOME, "many", arms=(STOCK, STOCK))
    assert comparison.undocumented == []


@pytest.mark.slow
@pytest.mark.thorough
async def test_cpu_and_allocations_are_measured(recorded: list[Event]) -> None:
    (setup,) = (await replay_setups((RECORDED,))).values()
    drawn = Sampler(recorded, Population(variations=False), 1).draw(FEW)
    async with start_replay(setup, STOCK, drawn) as replay:
        cpu = await replay.execute("measure_cpu")
        first, second = [await replay.execute("measure_allocations") for _ in range(2)]
    assert cpu["events"] == FEW
    assert 0 < cpu["scrape_cpu_seconds"] < cpu["cpu_seconds"]
    # The same work allocates the same.
    assert first["bytes"] == pytest.approx(second["bytes"], rel=0.01)


def test_the_matrix_has_many_settings_and_none() -> None:
    assert MATRIX["none"] == {}
    assert len(MATRIX) > 10
