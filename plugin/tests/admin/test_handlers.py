"""Admin routes: every answer, and every error with its hint."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.admin.control_actions import Action
from litellm_evenkeel.admin.handlers import AdminHandlers, Worker
from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.operator_actions import OperatorAction, subscribe
from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

SECRET = "sk-a-secret-that-must-not-appear"
CLIENT = "hash-of-a-key"


def deployment(account: str | None, number: int, **info: Any) -> dict[str, Any]:
    named = {} if account is None else {"account": account}
    return {
        "model_name": "chat",
        "litellm_params": {"model": "openai/gpt", "api_base": "http://there", "api_key": f"{SECRET}{number}"},
        "model_info": {"id": f"id-{number}", **named, **info},
    }


DEPLOYMENTS = [
    deployment("north", 0, limits={"rpm": 100}),
    deployment("south", 1, limits={"rpm": 10}),
    deployment(None, 2),
]


class World:
    def __init__(self, *, workers: int | None = None, is_shared: bool | None = None) -> None:
        self.now = 1_000_000.0
        metrics = RotationMetrics(None)
        self.account_router = AccountRouter(
            RotationSettings(),
            clock=self.clock,
            random=random.Random(1).random,
            spec=lambda one, model: DeploymentSpec.from_litellm(one, {}, model),
            observer=metrics,
        )
        self.router: list[dict[str, Any]] = []
        inspector = RotationInspector(self.account_router, metrics.counts, deployments=lambda _: self.router)
        self.handlers = AdminHandlers(
            inspector,
            Worker(4711, workers, lambda: is_shared),
            ControlSync(self.account_router.controls),
            configured=lambda: {"north", "south", "west"},
        )

    def clock(self) -> float:
        return self.now

    async def ask(self, session: str | None = None) -> Pick:
        request = {"metadata": {"session_id": session, "user_api_key_hash": CLIENT}, "litellm_call_id": "call"}
        found = await self.account_router.pick("chat", DEPLOYMENTS, [], request)
        assert isinstance(found, Pick)
        return found


def ok(document: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(document, allow_nan=False)
    assert SECRET not in text
    return json.loads(text)


async def refused(answer: Awaitable[dict[str, Any]], status: int) -> str:
    with pytest.raises(AdminRequestError) as raised:
        await answer
    assert raised.value.status == status
    assert raised.value.hint
    return str(raised.value)


async def test_accounts_are_told_by_name_and_the_worker_says_who_it_is() -> None:
    on = World(workers=4)
    await on.ask()
    told = ok(await on.handlers.accounts({}))
    assert told["worker"] == {"pid": 4711, "workers": 4, "shared": None}
    names = [one["account"] for one in told["accounts"]]
    assert {"north", "south"} < set(names)
    assert [name for name in names if name.startswith("acct-")]
    assert (told["total"], told["models"]) == (3, ["chat"])
    assert sum(one["picks"].get("strategy", 0) for one in told["accounts"]) == 1


async def test_accounts_can_be_asked_for_by_name_by_state_and_so_many() -> None:
    on = World()
    pick = await on.ask()
    name = pick.deployment.spec.account
    on.account_router.pool.fail(pick.reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "bad key"))
    dead = ok(await on.handlers.accounts({"state": "quarantined"}))
    assert ([one["account"] for one in dead["accounts"]], dead["total"]) == ([name], 1)
    assert [one["account"] for one in ok(await on.handlers.accounts({"account": "north"}))["accounts"]] == ["north"]
    two = ok(await on.handlers.accounts({"account": ["north", "south,south"]}))
    assert [one["account"] for one in two["accounts"]] == ["north", "south"]
    some = ok(await on.handlers.accounts({"limit": "2"}))
    assert (len(some["accounts"]), some["total"]) == (2, 3)


async def test_an_explanation_is_for_the_session_of_a_client() -> None:
    on = World()
    pinned = (await on.ask("s1")).deployment.spec.account
    told = ok(await on.handlers.explain({"model": "chat", "session": "s1", "client": CLIENT}))
    assert told["session"] == {"pinned_to": pinned, "decision": "follow"}
    assert (told["chosen"], told["reason"]) == (pinned, "pinned")
    by_caller = ok(await on.handlers.explain({"model": "chat", "session": "s1"}, client=CLIENT))
    assert by_caller["chosen"] == pinned
    other = ok(await on.handlers.explain({"model": "chat", "session": "s1"}, client="another"))
    assert other["session"] == {"pinned_to": None, "decision": None}


async def test_an_explanation_takes_tokens_and_where_it_has_failed_by_either_name() -> None:
    on = World()
    await on.ask()
    told = ok(
        await on.handlers.explain({"model": "chat", "tokens": "1200", "excluded": "north,id-1", "stream": "true"})
    )
    assert told["request"]["tokens"] == 1200
    assert told["request"]["excluded"] == ["id-0", "id-1"]
    assert told["request"]["stream"] is True
    assert told["chosen"].startswith("acct-")


async def test_what_nobody_has_asked_for_yet_is_explained_if_the_router_has_it() -> None:
    on = World()
    assert "Send a request" in await refused(on.handlers.explain({"model": "chat"}), 404)
    on.router = DEPLOYMENTS
    assert ok(await on.handlers.explain({"model": "chat"}))["model"] == "chat"
    on.router = []
    assert "Did you mean chat?" in await refused(on.handlers.explain({"model": "chatt"}), 404)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "model=NAME"),
        ({"modle": "chat"}, "Did you mean model?"),
        ({"model": "chat", "tried": "north"}, "It was renamed: write excluded."),
        ({"model": ["chat", "other"]}, "once"),
        ({"model": 5}, "text"),
        ({"model": "x" * 600}, "512"),
        ({"model": "chat", "tokens": "many"}, "many"),
        ({"model": "chat", "tokens": -1}, "-1"),
        ({"model": "chat", "excluded": ["a"] * 1001}, "1001"),
        ({"model": "chat", "excluded": [{}]}, "text"),
        ({"model": "chat", "stream": "perhaps"}, "perhaps"),
    ],
)
async def test_a_question_that_cannot_be_is_refused_with_its_cure(told: dict, words: str) -> None:
    assert words in await refused(World().handlers.explain(told), 422)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "2.5"}, "limit"),
        ({"limit": "99999"}, "10000"),
        ({"state": "helthy"}, "Did you mean healthy?"),
        ({"state": "held"}, "It was renamed: write cooling_down."),
        ({"colour": "red"}, "account"),
    ],
)
async def test_so_is_one_for_accounts(told: dict, words: str) -> None:
    assert words in await refused(World().handlers.accounts(told), 422)


async def test_a_key_in_place_of_its_hash_is_refused_and_not_repeated() -> None:
    said = await refused(World().handlers.explain({"model": "chat", "session": "s", "client": SECRET}), 422)
    assert "never the key" in said
    assert SECRET not in said


async def test_an_operator_releases_an_account() -> None:
    on = World()
    pick = await on.ask()
    name = pick.deployment.spec.account
    on.account_router.pool.fail(pick.reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "bad key"))
    assert ok(await on.handlers.release(name)) == {
        "worker": {"pid": 4711, "workers": None, "shared": None},
        "released": name,
        "everywhere": False,
        "journaled": None,
    }
    assert ok(await on.handlers.accounts({"state": "quarantined"}))["total"] == 0
    assert "Did you mean north?" in await refused(on.handlers.release("nort"), 404)
    assert "first request" in await refused(World().handlers.release("north"), 404)


@pytest.mark.parametrize(
    ("workers", "is_shared", "everywhere"),
    [(1, None, True), (1, False, False), (4, None, False), (4, True, True), (4, False, False)],
)
async def test_a_release_says_whether_all_workers_know_of_it(
    workers: int, *, is_shared: bool | None, everywhere: bool
) -> None:
    on = World(workers=workers, is_shared=is_shared)
    await on.ask()
    assert ok(await on.handlers.release("north"))["everywhere"] is everywhere


async def test_explaining_lets_requests_through_meanwhile() -> None:
    on = World()
    await on.ask()
    question = asyncio.create_task(on.handlers.explain({"model": "chat"}))
    for _ in range(20):
        await on.ask()
    ok(await question)


@pytest.fixture
def actions() -> Iterator[list[OperatorAction]]:
    """Operators' actions, as the journal gets them."""
    done: list[OperatorAction] = []

    async def listen(action: OperatorAction) -> None:
        if action.reason == "fails":
            raise OSError
        done.append(action)

    unsubscribe = subscribe(listen)
    yield done
    unsubscribe()


async def test_a_control_is_in_force_shown_and_recorded(actions: list[OperatorAction]) -> None:
    on = World(workers=1)
    await on.ask()
    done = ok(await on.handlers.control("north", Action.PAUSE, {"for": "2h", "reason": "new key"}, "anna"))
    control = {"kind": "traffic", "value": "paused", "ends_in_seconds": 7200.0, "by": "anna", "reason": "new key"}
    assert (done["account"], done["controls"], done["everywhere"], done["journaled"]) == (
        "north",
        [control],
        True,
        True,
    )
    (shown,) = ok(await on.handlers.accounts({"account": "north"}))["accounts"]
    assert (shown["state"], shown["traffic_share"], shown["controls"]) == ("paused", 0.0, [control])
    assert [account["account"] for account in ok(await on.handlers.accounts({"state": "paused"}))["accounts"]] == [
        "north"
    ]
    explained = ok(await on.handlers.explain({"model": "chat"}))
    (candidate,) = [each for each in explained["candidates"] if each["account"] == "north"]
    assert candidate["blocker"]["reason"] == "paused"
    assert "/evenkeel/accounts/north/resume" in candidate["change"]
    resumed = ok(await on.handlers.control("north", Action.RESUME, {}, "anna"))
    assert resumed["controls"] == []
    assert [(action.by, action.action, action.account, action.seconds) for action in actions] == [
        ("anna", "pause", "north", 7200.0),
        ("anna", "resume", "north", None),
    ]


async def test_a_weight_is_recorded_with_its_value(actions: list[OperatorAction]) -> None:
    on = World()
    done = ok(await on.handlers.control("west", Action.WEIGHT, {"value": "0.5"}, "anna"))
    assert (done["everywhere"], [control["value"] for control in done["controls"]]) == (False, [0.5])
    assert [action.value for action in actions] == ["0.5"]


async def test_an_action_that_cannot_be_recorded_takes_effect_and_says_it(actions: list[OperatorAction]) -> None:
    on = World()
    done = ok(await on.handlers.control("north", Action.DRAIN, {"reason": "fails"}))
    assert (done["journaled"], done["controls"][0]["value"]) == (False, "draining")
    assert not actions


async def test_an_unknown_account_cannot_be_controlled() -> None:
    on = World()
    await on.ask()
    assert "Did you mean north?" in await refused(on.handlers.control("nroth", Action.PAUSE, {}), 404)


async def test_without_a_journal_nothing_is_recorded() -> None:
    on = World()
    assert ok(await on.handlers.control("north", Action.PAUSE, {}))["journaled"] is None
