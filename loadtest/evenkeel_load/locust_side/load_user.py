"""The base class of locustfiles. See `loadtest/scenarios/chat.py` for one to copy.

Locust's own users send whenever they are free. Users of a `LoadUser` follow the options of a load: who sends which
request at which moment is drawn before the load begins, and each request is recorded.

Runs in Locust's process only.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from gevent.event import Event
from gevent.local import local
from locust import User

from evenkeel_load.draws import Mix
from evenkeel_load.locust_side.harness import Harness
from evenkeel_load.scenario import SCENARIOS, Scenario
from evenkeel_load.user_modes import USER_MODES, UserMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_load.locust_side.session import Request
    from evenkeel_load.records.outcome import Outcome

HARNESS = Harness()


def follow_plan(user: LoadUser) -> None:
    """Send this user's requests, and then nothing until Locust stops it."""
    HARNESS.work(user)
    Event().wait()


class LoadUser(User):
    """A user whose tasks each send one request with `post`.

    A task is chosen for each request by the weights of `@task`. The request that it belongs to is in the attributes
    `prompt`, `model`, `max_tokens` and `end_user`.
    """

    abstract = True
    user_modes: ClassVar[Mapping[str, type[UserMode]]] = USER_MODES
    """The choices of `--user-mode`."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Options with another default than usual, such as `{"payload_bytes": 16}`."""
    scenario: ClassVar[Scenario]
    calls: ClassVar[Mix[str]]
    """The names of the tasks, with their weights."""

    _requests = local()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited: Mix[str] = getattr(cls, "calls", Mix("call", (), ()))
        weights = dict(zip(inherited.things, inherited.weights, strict=True))
        weights |= Counter(str(getattr(task, "__name__", task)) for task in cls.tasks if task is not follow_plan)
        cls.calls = Mix("call", tuple(weights), tuple(weights.values()))
        # Locust runs one task, in which the session chooses among the others.
        cls.tasks = [follow_plan]
        own = Scenario(cls.__name__, cls.__doc__ or "", tuple(weights), cls.defaults)
        # A locustfile of this project has its defaults in SCENARIOS, where `evenkeel load` needs them.
        cls.scenario = SCENARIOS.get(cls.__name__.removesuffix("User").lower(), own)

    @property
    def prompt(self) -> str:
        """A text of `--payload-bytes`, different for each request or one of `--prompts`."""
        return self.request.prompt

    @property
    def model(self) -> str:
        """One of `--models`."""
        return self.request.model

    @property
    def max_tokens(self) -> int | None:
        """`--max-tokens`, or None."""
        return self.request.max_tokens

    @property
    def end_user(self) -> str | None:
        """The value of the field `user` according to `--user-mode`, or None."""
        return self.request.end_user

    @property
    def request(self) -> Request:
        """The request that the running task sends."""
        request: Request = self._requests.current
        return request

    @request.setter
    def request(self, request: Request) -> None:
        # An open load runs many tasks of one user at once, each in a greenlet of its own.
        self._requests.current = request

    def post(self, path: str, body: Mapping[str, Any]) -> Outcome:
        """Send the request, record it, and return its outcome. Fields of `body` that are None are left out.

        With `"stream": True` in `body`, every chunk is timed.
        """
        return self.request.post(path, body)
