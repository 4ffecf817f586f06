"""Status of accounts as operators see it."""

from __future__ import annotations

import json
import random

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.inspection.account_status import AccountState, AccountStatus, account_statuses
from litellm_evenkeel.rotation.inspection.metrics import PickCounts
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import PickReason
from litellm_evenkeel.rotation.settings import RotationSettings


class World:
    def __init__(self, **limits: dict | None) -> None:
        self.now = 1_000_000.0
        self.pool = AccountPool(RotationSettings(), clock=lambda: self.now, random=random.Random(1).random)
        self.pick_counts = PickCounts()
        self.candidate_sets = {
            model: self.pool.candidate_set(
                model,
                [
                    DeploymentSpec(f"{name}-{model}", name, model, limits=Limits.of(told, name))
                    for name, told in limits.items()
                ],
            )
            for model in ("small", "large")
        }

    def ask(self, account: str, model: str = "small", tokens: float = 0.0):  # noqa: ANN201
        return self.pool.pick(
            self.candidate_sets[model], PickRequest(Usage(1, tokens), preferred_account=account)
        ).reservation

    def standings(self, *only: str) -> dict[str, AccountStatus]:
        steps = account_statuses(self.pool, self.now, self.pick_counts, only=only or None)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return {one.account: one for one in end.value}


def test_a_window_tells_what_is_left_and_when_it_runs_out() -> None:
    on = World(a={"windows": [{"for": "1h", "tokens": 1000}], "concurrent": 4})
    for _ in range(3):
        on.ask("a", tokens=200)
        on.now += 1
    found = on.standings()["a"]
    (window,) = found.account_scope.windows
    assert (window.name, window.remaining, round(window.used_share, 6)) == ("tokens/1h", 400, 0.6)
    assert 150 < window.exhausted_in_seconds < 250
    assert (found.account_scope.in_flight, found.account_scope.concurrent) == (3, 4)
    assert [model.in_flight for model in found.models] == [3, 0]


def test_an_account_is_in_the_state_of_the_gravest_that_concerns_all_of_it() -> None:
    on = World(a=None, b=None, c=None)
    on.pool.fail(on.ask("a"), Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT_MODEL, 40.0, "rule"))
    on.pool.fail(on.ask("b"), Failure(FailureKind.QUOTA, FailureScope.ACCOUNT, 90.0, "rule of b"))
    on.pool.fail(on.ask("c"), Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "bad key"))
    found = on.standings()
    assert [one.state for one in found.values()] == [
        AccountState.HEALTHY,
        AccountState.COOLING_DOWN,
        AccountState.QUARANTINED,
    ]
    small, _ = found["a"].models
    assert (small.state, small.failure, small.reason, small.provider_stated) == (
        AccountState.COOLING_DOWN,
        FailureKind.RATE_LIMIT,
        "rule",
        True,
    )
    assert 40 <= small.cooldown_seconds <= 42
    assert found["c"].account_scope.cooldown_seconds is None
    on.pool.fail(on.ask("a", "large"), Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT_MODEL, 40.0, "rule"))
    assert on.standings()["a"].state is AccountState.COOLING_DOWN
    on.now += 100
    assert on.standings()["b"].state is AccountState.PROBING


def test_what_has_happened_is_told_by_account() -> None:
    on = World(a=None, b=None)
    on.pick_counts.picks["a", PickReason.PINNED] += 2
    on.pick_counts.failures["a", FailureKind.QUOTA] += 1
    found = on.standings()
    assert (found["a"].picks, found["a"].failures, found["b"].picks) == ({"pinned": 2}, {"quota": 1}, {})


def test_some_can_be_asked_for_by_name() -> None:
    on = World(a=None, b=None, c=None)
    assert list(on.standings("c", "a", "absent", "a")) == ["a", "c"]


def test_as_json_it_is_json() -> None:
    on = World(a={"rpm": 5}, b=None)
    on.pool.fail(on.ask("b"), Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "bad key"))
    told = json.loads(json.dumps([one.as_json() for one in on.standings().values()], allow_nan=False))
    assert [one["state"] for one in told] == ["healthy", "quarantined"]
    assert told[0]["windows"][0]["exhausted_in_seconds"] is None
    assert told[1]["deployments"] == ["b-small", "b-large"]
