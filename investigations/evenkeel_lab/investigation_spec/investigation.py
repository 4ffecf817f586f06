"""What an `investigation.toml` may say. Every field says what it is; a field that is not here is refused."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.arm import Arm, Kind
from evenkeel_lab.investigation_spec.base import Amount, Effect, Name, Part, Text
from evenkeel_lab.investigation_spec.validation_errors import hint, what
from evenkeel_lab.stats import Margin, Scale, check_looks
from evenkeel_lab.stats.metrics import METRICS, Metric, metric_named
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.options import OPTIONS, SHARED
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

# Names that the engine gives to arms of its own.
AGAIN, DIRECT = "again", "direct"
OF_FUNCTIONS = "value"


class Design(StrEnum):
    """How the two runs of a pair come about."""

    DUETS = "duets"
    """At the same moment, each proxy on a core of its own; they take turns on all of them."""
    ALTERNATING = "alternating"
    """One after the other, in random order."""


class Subjects(StrEnum):
    """For how long a proxy lives."""

    KEPT = "kept"
    """All of them stay up side by side, for the whole session."""
    FRESH = "fresh"
    """Each is booted anew, with an empty database, for each pair."""


class Load(Part):
    """What each run sends: the options of `evenkeel load`."""

    scenario: str = Field("chat", description="Which requests: chat, stream, compact, mixed or soak.")
    users: PositiveInt = Field(20, description="Simulated users; of a closed load, so many requests at a time.")
    arrivals: str = Field("closed", description="When requests are sent: closed, constant, poisson, gamma or ramp.")
    rate_to: PositiveFloat | None = Field(None, description="The rate at which a ramp ends.")
    cv: PositiveFloat | None = Field(None, description="How much the gaps of gamma arrivals vary.")
    requests: PositiveInt | None = Field(None, description="How many requests a run has.")
    duration: PositiveFloat | None = Field(None, description="For how many seconds a run lasts.")
    rate: PositiveFloat | None = Field(None, description="Requests a second, of an open load.")
    user_mode: str = Field("none", description="What stands in the field user: none, sequential, random or created.")
    requests_per_user: int | None = Field(None, ge=0, description="How many requests keep an id; 0: all.")
    key_mode: str = Field("shared", description="One API key for all (shared), or one for each user (per-user).")
    payload_bytes: PositiveInt | None = Field(None, description="The size of what is said to the model.")
    prompts: int | None = Field(None, ge=0, description="How many different prompts there are; 0: each its own.")
    models: str | None = Field(None, description="Which models are asked for: gpt-4o, or gpt-4o=3,gpt-4o-mini=1.")
    max_tokens: int | None = Field(None, ge=0, description="How long an answer may be; 0: as long as it is.")

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.requests is None and self.duration is None:
            raise ValueError("a run needs `requests` or `duration`")
        if self.scenario not in SCENARIOS:
            raise ValueError(f"there is no scenario {self.scenario!r}", nearest(self.scenario, SCENARIOS))
        try:
            for option in OPTIONS:
                if option.field in self.options:
                    option.parse(str(self.options[option.field]))
            make_plan(SCENARIOS[self.scenario], self.users, "", self.options)
        except LoadConfigError as error:
            raise ValueError(error.what.rstrip("."), error.hint) from error
        return self

    @property
    def options(self) -> dict[str, Any]:
        """What `evenkeel load` is told."""
        return self.model_dump(exclude={"scenario", "users"}, exclude_none=True)


class Mock(Part):
    """The provider behind the proxies."""

    seed: int = Field(7, ge=0, description="What its latencies are drawn from, the same for both arms.")
    latency: dict[str, Any] = Field({"ttft_ms": 50}, description="Its latency model; see docs/mock.md.")
    workers: PositiveInt = Field(1, description="How many processes it has.")


class Session(Part):
    """How the runs are arranged."""

    design: Design = Field(Design.DUETS, description="How the runs of a pair come about: duets or alternating.")
    subjects: Subjects = Field(Subjects.KEPT, description="Whether proxies are kept for all pairs, or fresh for each.")
    looks: list[PositiveInt] = Field([6, 12, 24], description="After how many pairs it may be judged.")
    seconds: PositiveFloat | None = Field(
        None,
        description="How long it may take once all is installed: no further pair is begun that would end later, unless "
        "there are too few for a verdict; then it may take half as long again.",
    )
    seed: int = Field(1, ge=0, description="What orders, cores and arrivals are drawn from.")
    warm_up: NonNegativeFloat = Field(
        5.0,
        description="Seconds of each window in which a subject is loaded until it is warm, if it is not requests that "
        "end its load; 0: it is met cold.",
    )
    noise: bool = Field(default=True, description="Whether a second baseline and the mock itself are measured too.")

    @model_validator(mode="after")
    def _looks_are_looks(self) -> Self:
        check_looks(self.looks)
        return self


class Judged(Part):
    """A figure, and from where on a difference of it matters."""

    margin: float = Field(gt=0, lt=10, description="A share of the baseline, or of a share so many: 0.05 is 5 %.")
    floor: float = Field(0.0, ge=0, description="What never matters, in the figure's own unit.")
    primary: bool = Field(default=False, description="Whether this figure decides; exactly one does.")
    about: str = Field("", description="What a function's own figure is.")
    unit: str = Field("", description="And in which unit it is.")
    is_part: bool = Field(default=False, description="Whether that of an arm is told as a part of the baseline's.")


class Gates(Part):
    """What invalidates a run, beside what `evenkeel load` itself calls rig-limited."""

    throttled: float = Field(
        0.02, ge=0, le=1, description="For which share of a run the machine may take the CPU away."
    )
    settled: float = Field(
        0.05,
        gt=0,
        le=1,
        description="By which share the last three windows of a warm-up may vary (their CV); 1: one window is enough.",
    )
    mock: float = Field(0.85, gt=0, le=1, description="How busy the mock may be: a share of a core for each worker.")
    invalid: float = Field(0.2, ge=0, lt=1, description="Which share of pairs may be invalid before the session is.")


class Expected(Part):
    """What somebody else found, to be set beside."""

    source: Text = Field(description="Where it is from.")
    claim: Text = Field(description="What it says.")
    arm: Name = Field(description="Which arm it is about, against the baseline.")
    figures: dict[str, Effect] = Field({}, description="Effects that were claimed: 0.27 is 27 % more, or points.")
    runs: dict[Name, dict[str, list[Amount]]] = Field(
        {}, description="What was published of single runs: by arm, then by figure, in its own unit."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.figures and not self.runs:
            raise ValueError("what was expected has `figures` or `runs`")
        return self


class Switch(Part):
    """One thing of the full arm that may be taken away, to learn its share of the cost."""

    about: Text = Field(description="What is taken away.")
    arm: Name = Field(description="The arm that lacks it.")


class Ablation(Part):
    """What the cost of one arm is made of; the arm that has nothing of it is the baseline."""

    full: Name = Field(description="The arm that has everything.")
    switches: dict[Name, Switch] = Field(
        description="What may be taken away, each by its name, in the order of the chart.", min_length=1
    )


class Queue(Part):
    """Arms that differ in how many users they have, to be compared with what a queue would do."""

    arms: list[Name] = Field(description="Which arms; of a closed load, each with other `users`.", min_length=3)


class Investigation(Part):
    """All of the file."""

    title: Text = Field(description="A few words.")
    question: Text = Field(description="What is asked.")
    hypothesis: Text = Field(description="What is believed beforehand, and why.")
    baseline: Name = Field(description="The arm that all others are compared with.")
    arms: dict[Name, Arm] = Field(description="What is compared, each by its name.", min_length=1)
    load: Load = Field(Load(requests=500), description="What each run sends.")
    mock: Mock = Field(Mock(), description="The provider behind the proxies.")
    session: Session = Field(Session(), description="How the runs are arranged.")
    figures: dict[str, Judged] = Field(description="What is judged, with margins fixed beforehand.", min_length=1)
    gates: Gates = Field(Gates(), description="What makes a run invalid.")
    expected: list[Expected] = Field([], description="What somebody else found.")
    criteria: dict[Name, dict[str, Amount]] = Field(
        {},
        description="What an arm has to keep to: by arm, then by figure, at most so much; of throughput, at least.",
    )
    ablation: Ablation | None = Field(None, description="What the cost of one arm is made of.")
    queue: Queue | None = Field(None, description="Which arms are compared with what a queue would do.")

    @model_validator(mode="after")
    def _everything_that_is_named_is_there(self) -> Self:
        for name in (AGAIN, DIRECT):
            if name in self.arms:
                raise ValueError(f"the engine has an arm {name!r} of its own")
        for name in self._arms_named():
            if name not in self.arms:
                raise ValueError(f"there is no arm {name!r}", nearest(name, self.arms))
        for name in self._figures_named():
            if name not in METRICS:
                raise ValueError(f"there is no figure {name!r}", nearest(name, METRICS))
        return self

    @model_validator(mode="after")
    def _loads_of_arms_are_loads(self) -> Self:
        for name, arm in self.arms.items():
            try:
                load = self.load_of(name)
            except ValidationError as error:
                first = error.errors()[0]
                raise ValueError(what(first, "arms", name, "load"), hint(Load, first)) from error
            if arm.bare and (load.user_mode == "created" or load.key_mode != SHARED):
                raise ValueError(f"arms.{name} is bare: without a database there are no users, and no keys")
        return self

    @model_validator(mode="after")
    def _queue_is_one(self) -> Self:
        arms = self.queue.arms if self.queue else []
        loads = [self.load_of(name) for name in arms]
        if any(one.arrivals != CLOSED for one in loads):
            raise ValueError("queue: its users wait for their answers", f'Give its arms arrivals = "{CLOSED}".')
        if len({one.users for one in loads}) < len(arms):
            raise ValueError("queue: each of its arms has other users")
        if any(self.arms[name].workers > 1 for name in arms):
            raise ValueError("queue: it has one server", "Give its arms one worker each.")
        return self

    @model_validator(mode="after")
    def _figures_can_be_judged(self) -> Self:
        if sum(one.primary for one in self.figures.values()) != 1:
            raise ValueError("exactly one figure is primary")
        for name, one in self.figures.items():
            if name != OF_FUNCTIONS and (one.about or one.unit or one.is_part):
                raise ValueError(f"figures.{name} is known already", "Leave out `about`, `unit` and `is_part`.")
            if one.floor and METRICS[name].usual.scale is Scale.POINTS:
                raise ValueError(f"figures.{name} is a share", "Its margin is in points already: leave out the floor.")
        functions = {arm.subject is Kind.FUNCTION for arm in self.arms.values()}
        if len(functions) > 1 or functions != {name == OF_FUNCTIONS for name in self.figures}:
            raise ValueError(f"functions have the figure {OF_FUNCTIONS} and no other, and nothing else has it")
        return self

    @model_validator(mode="after")
    def _there_is_something_to_compare(self) -> Self:
        if len(self.arms) == 1 and not (self.session.noise and self.arms[self.baseline].subject is Kind.PROXY):
            raise ValueError("there is nothing to compare: a single arm, and no second baseline beside it")
        if len({self.baseline, *self._ablated()}) != 1 + len(self._ablated()):
            raise ValueError("the baseline, an ablation's full arm and its switches' arms are each another arm")
        return self

    def _arms_named(self) -> list[str]:
        found = [self.baseline, *self._ablated(), *(self.queue.arms if self.queue else []), *self.criteria]
        for one in self.expected:
            found += [one.arm, *one.runs]
        return found

    def _figures_named(self) -> list[str]:
        found = list(self.figures)
        for one in self.expected:
            found += [*one.figures, *(name for told in one.runs.values() for name in told)]
        return [*found, *(name for bounds in self.criteria.values() for name in bounds)]

    def _ablated(self) -> list[str]:
        return [self.ablation.full, *(one.arm for one in self.ablation.switches.values())] if self.ablation else []

    @property
    def comparisons(self) -> list[tuple[str, str]]:
        """Which arms are compared with which."""
        found = [(self.baseline, name) for name in self.arms if name != self.baseline]
        if self.ablation:
            found += [(self.ablation.full, switch.arm) for switch in self.ablation.switches.values()]
        # Of a function there is no second process that could differ.
        noise = self.session.noise and self.arms[self.baseline].subject is Kind.PROXY
        return [*found, *([(self.baseline, AGAIN)] if noise else [])]

    def arm(self, name: str) -> Arm | None:
        """Return an arm; of the engine's own, the baseline for the second one, and none for the mock alone."""
        return self.arms.get(name, self.arms[self.baseline] if name == AGAIN else None)

    def warm_up_of(self, arm: str) -> float:
        """Return how many seconds each window of an arm's warm-up lasts."""
        own = self.arm(arm)
        return self.session.warm_up if own is None or own.warm_up is None else own.warm_up

    def load_of(self, arm: str) -> Load:
        """Return what is sent to an arm; to the engine's own, what the baseline gets."""
        own = self.arm(arm)
        return Load.model_validate(self.load.model_dump() | own.load) if own and own.load else self.load

    @property
    def primary(self) -> str:
        """The figure that decides."""
        return next(name for name, one in self.figures.items() if one.primary)

    @property
    def described(self) -> dict[str, Metric]:
        """What each figure is: that of a function in this file's words."""
        return METRICS | {
            name: replace(METRICS[name], about=one.about or METRICS[name].about, unit=one.unit, is_part=one.is_part)
            for name, one in self.figures.items()
            if name == OF_FUNCTIONS
        }

    @property
    def margins(self) -> dict[str, Margin]:
        """From where on a difference of each figure matters."""
        return {
            name: Margin(metric_named(name).usual.scale, one.margin, one.floor) for name, one in self.figures.items()
        }
