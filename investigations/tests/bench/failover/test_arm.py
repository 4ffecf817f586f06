from __future__ import annotations

from typing import Any

import pytest

from evenkeel_lab.bench.failover.arm import EVENKEEL, STOCK, Drill, Outcome, Request, samples_during
from evenkeel_lab.bench.failover.journal import Entry
from evenkeel_lab.stack.litellm.accounts import unequal_accounts
from evenkeel_lab.stack.litellm.config import MODEL, ROTATION, proxy_config
from evenkeel_load.records.resource_samples import Sample
from evenkeel_mock.config import parse

DRILL = Drill(unequal_accounts(3), [0.1, 0.2])


def config(arm: str, workers: int = 1) -> dict[str, Any]:
    return proxy_config(DRILL.subject(arm, "1.106.2", workers), "http://m")


@pytest.mark.parametrize("arm", STOCK)
def test_stock_arms_differ_from_ours_in_nothing_but_who_chooses(arm: str) -> None:
    stock, ours = config(arm), config(EVENKEEL)
    assert stock["router_settings"].pop("routing_strategy") == arm
    assert ours["litellm_settings"].pop("callbacks") == [ROTATION]
    assert stock == ours


def test_only_workers_share() -> None:
    assert "evenkeel" not in config(EVENKEEL)
    assert config(EVENKEEL, workers=4)["evenkeel"] == {"rotation": {"shared": {"redis_url": "litellm"}}}


def test_the_warm_up_touches_no_account_of_the_drill() -> None:
    groups: dict[str, set[str]] = {}
    for one in config(EVENKEEL)["model_list"]:
        groups.setdefault(one["model_name"], set()).add(one["model_info"]["account"])
    drilled = groups.pop(MODEL)
    assert drilled == {account.name for account in DRILL.accounts}
    (others,) = groups.values()
    known = {account.name for account in parse(DRILL.options().mock_settings, 1).accounts.listed.values()}
    assert (drilled | others, drilled & others) == (known, set())


def test_an_outcome_says_what_clients_have_seen() -> None:
    seen = [(200, ""), (200, ""), (429, "http_429"), (403, "http_403"), (0, "timeout"), (200, "malformed")]
    requests = tuple(Request(0, 0.0, 1.0, status, error) for status, error in seen)
    found = Outcome(requests, (Entry("a", 0.0, 200, ""),) * 9)
    assert found.success_share == pytest.approx(2 / 6)
    assert found.rejections_seen == 2
    assert found.summary == "6 requests, 1.500 tries each, 1 http_429, 1 http_403, 1 timeout, 1 malformed"


def test_of_a_proxy_only_what_it_had_to_do_in_the_drill_is_looked_at() -> None:
    samples = [Sample(100.0 + second, 1.0, (), 0.0) for second in range(1, 21)]
    assert [one.time for one in samples_during(samples, 108.0, 5.5)] == [109.0, 110.0, 111.0, 112.0, 113.0, 114.0]
