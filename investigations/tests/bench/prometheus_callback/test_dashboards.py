"""What LiteLLM's Grafana dashboards query is in our scrape where it is in stock's."""

from __future__ import annotations

import asyncio
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.bench.prometheus_callback import VERSIONS, grounds
from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.running import scraped
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import families

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event

KNOWN: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("dashboards.toml").read_text())
EVENTS = 150
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def names(part: str) -> list[str]:
    return [name for one in KNOWN[part].values() for name in one["names"].split()]


QUERIED, ABSENT = set(names("dashboards")), set(names("absent"))


def shown(scrape: str) -> tuple[set[str], set[str]]:
    """Return the names that a scrape declares, series or not, and those that have series."""
    declared, series = set(), set()
    for name, one in families(scrape).items():
        declared |= {f"{name}{suffix}" for suffix in SUFFIXES.get(one.type, ("",))}
        series |= {sample for sample, _ in one.series}
    return declared | series, series


def test_the_list_names_its_source_and_each_absent_name_once() -> None:
    assert all(len(one["commit"]) == 40 for one in KNOWN["dashboards"].values())
    assert all(one["reason"] for one in KNOWN["absent"].values())
    assert max(Counter(names("absent")).values()) == 1
    assert ABSENT <= QUERIED


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
async def test_what_dashboards_query_is_in_ours_where_it_is_in_stock(recorded: list[Event], version: str) -> None:
    ground = (await grounds((version,)))[version]
    events = Sampler(recorded, Crowd(), SEED).draw(EVENTS)
    first, second = await asyncio.gather(scraped(ground, STOCK, events), scraped(ground, EVENKEEL, events))
    (stock, stock_series), (ours, our_series) = shown(first.text), shown(second.text)
    assert QUERIED & stock - ours == set()
    assert QUERIED & stock_series - our_series == set()
    # A name that comes or goes is news.
    assert QUERIED - stock == ABSENT
    assert len(QUERIED & stock_series) > 50
