"""Events through LiteLLM's own callback and one that is wrong: what is wrong is found, and nothing else is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.callback import grounds
from evenkeel_lab.bench.callback.differential import STOCK, differential
from evenkeel_lab.bench.callback.matrix import MATRIX
from evenkeel_lab.bench.callback.running import Ground, replaying
from evenkeel_lab.bench.callback.sampling import Crowd, Sampler
from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.subject import DEFAULT_VERSION

if TYPE_CHECKING:
    from evenkeel_lab.bench.callback.events import Event

HERE = Ground(Path(sys.executable), (Path(__file__).parent,), bare=True)
WRONG = "wrong:Wrong"
FEW, MANY = 200, 5_000


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


@pytest.mark.slow
async def test_stock_differs_from_itself_in_nothing(recorded: list[Event]) -> None:
    ground = (await grounds((DEFAULT_VERSION,)))[DEFAULT_VERSION]
    outcome = await differential(ground, recorded, MANY, "many", arms=(STOCK, STOCK))
    assert outcome.undocumented == []


@pytest.mark.slow
@pytest.mark.parametrize("events", [FEW, MANY])
async def test_a_success_event_is_measured(recorded: list[Event], events: int) -> None:
    drawn = Sampler(recorded, Crowd(variations=False), 1).draw(events)
    async with replaying(HERE, STOCK, drawn) as replay:
        told = await replay.wish("measure")
    assert told["events"] == events
    assert 0 < told["scrape_cpu_seconds"] < told["cpu_seconds"]


def test_the_settings_have_names_and_the_first_are_none() -> None:
    assert MATRIX["none"] == {}
    assert len(MATRIX) > 10
