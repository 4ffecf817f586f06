"""Every metric that LiteLLM's Grafana dashboards query is in our scrape if it is in stock's."""

from __future__ import annotations

import asyncio
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.bench.prometheus_callback import VERSIONS, replay_setups
from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.replay_process import scrape
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import families

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event

KNOWN: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("dashboards.toml").read_text())
EVENTS = 150
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def names(part: str) -> list[str]:
    return [name for entry in KNOWN[part].values() for name in entry["names"].split()]


QUERIED, ABSENT = set(names("dashboards")), set(names("absent"))


def metric_names(text: str) -> tuple[set[str], set[str]]:
    """Return the names that a scrape declares, with or without series, and those with series."""
    declared, series = set(), set()
    for name, family in families(text).items():
        declared |= {f"{name}{suffix}" for suffix in SUFFIXES.get(family.type, ("",))}
        series |= {sample for sample, _ in family.series}
    return declared | series, series


def test_the_list_names_its_sources_and_each_absent_metric_once() -> None:
    assert all(len(entry["commit"]) == 40 for entry in KNOWN["dashboards"].values())
    assert all(entry["reason"] for entry in KNOWN["absent"].values())
    assert max(Counter(names("absent")).values()) == 1
    assert ABSENT <= QUERIED


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("version", VERSIONS)
async def test_metrics_of_dashboards_are_in_our_scrape_if_in_stocks(recorded: list[Event], version: str) -> None:
    setup = (await replay_setups((version,)))[version]
    events = Sampler(recorded, Population(), SEED).draw(EVENTS)
    first, second = await asyncio.gather(scrape(setup, STOCK, events), scrape(setup, EVENKEEL, events))
    (stock, stock_series), (ours, our_series) = metric_names(first.text), metric_names(second.text)
    assert QUERIED & stock - ours == set()
    assert QUERIED & stock_series - our_series == set()
    # LiteLLM has added or removed a metric if this fails.
    assert QUERIED - stock == ABSENT
    assert len(QUERIED & stock_series) > 50
