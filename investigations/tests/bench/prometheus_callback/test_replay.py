"""Events through LiteLLM's own callback and one that is wrong: what is wrong is found, and nothing else is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from evenkeel_lab.bench.prometheus_callback import grounds
from evenkeel_lab.bench.prometheus_callback.differential import STOCK, differential
from evenkeel_lab.bench.prometheus_callback.environments import RECORDED
from evenkeel_lab.bench.prometheus_callback.running import Ground, preloaded, replaying
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Kind
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.bench.prometheus_callback.events import Event

HERE = Ground(Path(sys.executable), (Path(__file__).parent,), bare=True)
WRONG = "wrong:Wrong"
FEW, SOME, MANY = 150, 800, 5_000


@pytest.mark.slow
async def test_what_is_wrong_is_found_and_nothing_else(recorded: list[Event]) -> None:
    outcome = await differential(HERE, recorded, FEW, arms=(STOCK, WRONG))
    families = {one.family for one in outcome.undocumented}
    assert {
        "litellm_cache_misses_metric",
        "litellm_cache_hits_metric",
        "litellm_total_tokens_metric",
        "litellm_deployment_failure_responses",
        "litellm_llm_api_failed_requests_metric",
    } <= families
    assert not families & {"litellm_requests_metric", "litellm_spend_metric", "litellm_proxy_failed_requests_metric"}
    assert outcome.series > 1_000


async def test_what_cannot_be_replayed_says_why(recorded: list[Event]) -> None:
    with pytest.raises(RigFailure, match="nowhere"):
        async with replaying(HERE, "nowhere:Nothing", recorded[:1]):
            pass


@pytest.mark.parametrize("settings", ["none", "several workers", "short lives, always looked at"])
async def test_ours_says_what_stock_says(recorded: list[Event], settings: str) -> None:
    outcome = await differential(HERE, recorded, FEW, settings)
    assert not outcome.undocumented, outcome


async def test_settings_that_both_refuse_are_refused_in_the_same_words(recorded: list[Event]) -> None:
    outcome = await differential(HERE, recorded, FEW, "buckets out of order")
    assert (outcome.series, list(outcome.undocumented)) == (0, [])
    # One that counts all the same, or refuses in other words, differs.
    (found,) = (await differential(HERE, recorded, FEW, "buckets out of order", arms=(STOCK, "noop"))).undocumented
    assert (found.kind, found.first, found.second) == (Kind.REFUSAL, "Buckets not in sorted order", "")


@pytest_asyncio.fixture(scope="module")
async def server() -> AsyncIterator[Ground]:
    """LiteLLM without its proxy, imported once: settings belong to the callback."""
    ground = (await grounds((RECORDED,)))[RECORDED]
    async with preloaded(replace(ground, bare=True)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("settings", [name for name in MATRIX if name != "none"])
async def test_ours_says_what_stock_says_under_all_settings(
    server: Ground, recorded: list[Event], settings: str
) -> None:
    outcome = await differential(server, recorded, SOME, settings)
    assert not outcome.undocumented, outcome


@pytest.mark.slow
async def test_ours_says_what_stock_says_in_a_proxy(recorded: list[Event]) -> None:
    ground = (await grounds((RECORDED,)))[RECORDED]
    outcome = await differential(ground, recorded, MANY)
    assert not outcome.undocumented, outcome


@pytest.mark.slow
async def test_stock_differs_from_itself_in_nothing(recorded: list[Event]) -> None:
    ground = (await grounds((RECORDED,)))[RECORDED]
    outcome = await differential(ground, recorded, MANY, "many", arms=(STOCK, STOCK))
    assert outcome.undocumented == []


@pytest.mark.slow
async def test_events_are_measured_and_so_is_what_they_allocate(recorded: list[Event]) -> None:
    (ground,) = (await grounds((RECORDED,))).values()
    drawn = Sampler(recorded, Crowd(variations=False), 1).draw(FEW)
    async with replaying(ground, STOCK, drawn) as replay:
        used, first, second = [await replay.wish(wish) for wish in ("measure", "allocate", "allocate")]
    assert used["events"] == FEW
    assert 0 < used["scrape_cpu_seconds"] < used["cpu_seconds"]
    # The same work asks for the same.
    assert first["bytes"] == pytest.approx(second["bytes"], rel=0.01)


def test_the_settings_have_names_and_the_first_are_none() -> None:
    assert MATRIX["none"] == {}
    assert len(MATRIX) > 10
