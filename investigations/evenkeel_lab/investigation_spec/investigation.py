"""Schema of `investigation.toml`. Every field has a description; unknown fields are rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from pydantic import Field, PositiveFloat, PositiveInt, ValidationError, model_validator

from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.arm import Arm, Kind
from evenkeel_lab.investigation_spec.base import Amount, Effect, Name, Part, Text
from evenkeel_lab.investigation_spec.session import Design, Session
from evenkeel_lab.investigation_spec.validation_errors import describe, hint
from evenkeel_lab.stats import Margin, Scale
from evenkeel_lab.stats.metrics import METRICS, Metric, metric_named
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.options import OPTIONS, SHARED
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

# Arms that the runner adds: a second baseline, and the mock without a proxy.
AGAIN, DIRECT = "again", "direct"
FUNCTION_METRIC = "value"


class Load(Part):
    """The load of each run: the options of `evenkeel load`."""

    scenario: str = Field("chat", description="The kind of requests: chat, stream, compact, mixed or soak.")
    users: PositiveInt = Field(
        20, description="Simulated users. In a closed load, this is the number of requests in flight."
    )
    arrivals: str = Field("closed", description="The arrival process: closed, constant, poisson, gamma or ramp.")
    rate_to: PositiveFloat | None = Field(None, description="The rate at which a ramp ends.")
    cv: PositiveFloat | None = Field(
        None, description="The coefficient of variation of the gaps between gamma arrivals."
    )
    requests: PositiveInt | None = Field(None, description="Requests of a run.")
    duration: PositiveFloat | None = Field(None, description="Seconds of a run.")
    rate: PositiveFloat | None = Field(None, description="Requests per second of an open load.")
    user_mode: str = Field("none", description="The values of the field `user`: none, sequential, random or created.")
    requests_per_user: int | None = Field(None, ge=0, description="Requests with the same user id; 0: all.")
    key_mode: str = Field("shared", description="One API key for all users (shared), or one for each (per-user).")
    payload_bytes: PositiveInt | None = Field(None, description="The size of a prompt in bytes.")
    prompts: int | None = Field(None, ge=0, description="The number of different prompts; 0: each request has its own.")
    models: str | None = Field(
        None, description="The models of the requests, with weights: gpt-4o, or gpt-4o=3,gpt-4o-mini=1."
    )
    max_tokens: int | None = Field(None, ge=0, description="The maximum length of an answer in tokens; 0: no maximum.")

    @model_validator(mode="after")
    def _is_valid_load(self) -> Self:
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
        """The options that are set, by name."""
        return self.model_dump(exclude={"scenario", "users"}, exclude_none=True)


class Mock(Part):
    """The provider behind the proxies."""

    seed: int = Field(7, ge=0, description="The seed of its latencies, the same for both arms.")
    latency: dict[str, Any] = Field({"ttft_ms": 50}, description="Its latency model; see docs/mock.md.")
    workers: PositiveInt = Field(1, description="The number of its processes.")


class JudgedMetric(Part):
    """A metric, and the smallest difference of it that matters."""

    margin: float = Field(
        gt=0, lt=10, description="A share of the baseline; of a metric that is a share, points: 0.05 is 5 %."
    )
    floor: float = Field(0.0, ge=0, description="A difference that never matters, in the metric's own unit.")
    primary: bool = Field(default=False, description="Whether this metric decides; exactly one does.")
    about: str = Field("", description="A description of a function's metric.")
    title: str = Field("", description="A shorter description, for figures and sentences.")
    unit: str = Field("", description="The unit of a function's metric.")
    is_part: bool = Field(default=False, description="Whether an arm's value is shown as a part of the baseline's.")


class Gates(Part):
    """Bounds outside of which a run is invalid, besides those of `evenkeel load` itself (rig-limited)."""

    throttled: float = Field(
        0.02,
        ge=0,
        le=1,
        description="The share of a run for which the CPU may be taken away by the machine or a quota.",
    )
    settled: float = Field(
        0.05,
        gt=0,
        le=1,
        description="The coefficient of variation that the last three windows of a warm-up may have; 1: one window is "
        "enough.",
    )
    mock: float = Field(0.85, gt=0, le=1, description="The share of a core that each worker of the mock may use.")
    late_ms: PositiveFloat = Field(
        10.0,
        description="Milliseconds after which a request of an open load counts as sent late. In a run, 1 % of the "
        "requests may be late.",
    )
    invalid: float = Field(0.2, ge=0, lt=1, description="The share of pairs that may be invalid before the session is.")


class Expected(Part):
    """A published finding, shown beside ours."""

    source: Text = Field(description="Its source.")
    claim: Text = Field(description="Its statement.")
    arm: Name = Field(description="The arm that it is about, against the baseline.")
    figures: dict[str, Effect] = Field({}, description="The published effects by metric: 0.27 is 27 % more, or points.")
    runs: dict[Name, dict[str, list[Amount]]] = Field(
        {}, description="The published values of single runs: by arm, then by metric, in its own unit."
    )

    @model_validator(mode="after")
    def _has_figures_or_runs(self) -> Self:
        if not self.figures and not self.runs:
            raise ValueError("a published finding has `figures` or `runs`")
        return self


class Switch(Part):
    """A part of the full arm that can be switched off, to measure its share of the cost."""

    about: Text = Field(description="The part that is switched off.")
    arm: Name = Field(description="The arm without it.")
    alone: bool = Field(
        default=False, description="Whether `arm` is the baseline with this part alone, not the full arm without it."
    )


class Ablation(Part):
    """An ablation: shares of the cost of one arm. The baseline is the arm without any of its parts."""

    full: Name = Field(description="The arm with all parts.")
    switches: dict[Name, Switch] = Field(
        description="The parts that can be switched off, by name, in the order of the chart.", min_length=1
    )


class Queue(Part):
    """Arms with different numbers of users, compared with a queueing model."""

    arms: list[Name] = Field(
        description="The arms, each with a closed load and another number of `users`.", min_length=3
    )


class Investigation(Part):
    """All of the file."""

    title: Text = Field(description="A few words.")
    question: Text = Field(description="The question.")
    hypothesis: Text = Field(description="The expected result and its reason, written before measuring.")
    short: str = Field("", description="The answer in one or two sentences, with quotations; added after measuring.")
    advice: str = Field("", description="What an operator should do, in one or two sentences; added after measuring.")
    baseline: Name = Field(description="The arm that all others are compared with.")
    arms: dict[Name, Arm] = Field(description="The subjects that are compared, by name.", min_length=1)
    compare: list[tuple[Name, Name]] = Field(
        [], description="Of blocks: further comparisons of two arms, each with its own baseline first."
    )
    load: Load = Field(Load(requests=500), description="The load of each run.")
    mock: Mock = Field(Mock(), description="The provider behind the proxies.")
    session: Session = Field(Session(), description="The plan of the session's runs.")
    figures: dict[str, JudgedMetric] = Field(
        description="The metrics that are judged, with margins fixed beforehand.", min_length=1
    )
    gates: Gates = Field(Gates(), description="Bounds outside of which a run is invalid.")
    expected: list[Expected] = Field([], description="Published findings.")
    criteria: dict[Name, dict[str, Amount]] = Field(
        {},
        description="Bounds by arm, then by metric: the maximum, and of throughput the minimum.",
    )
    ablation: Ablation | None = Field(None, description="The shares of the cost of one arm.")
    queue: Queue | None = Field(None, description="The arms that are compared with a queueing model.")

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        for name in (AGAIN, DIRECT):
            if name in self.arms:
                raise ValueError(f"the arm {name!r} is the runner's own: choose another name")
        for name in self._arms_named():
            if name not in self.arms:
                raise ValueError(f"there is no arm {name!r}", nearest(name, self.arms))
        for name in self._metrics_named():
            if name not in METRICS:
                raise ValueError(f"there is no metric {name!r}", nearest(name, METRICS))
        return self

    @model_validator(mode="after")
    def _loads_of_arms_are_valid(self) -> Self:
        for name, arm in self.arms.items():
            try:
                load = self.load_of(name)
            except ValidationError as error:
                first = error.errors()[0]
                raise ValueError(describe(first, "arms", name, "load"), hint(Load, first)) from error
            if arm.bare and (load.user_mode == "created" or load.key_mode != SHARED):
                raise ValueError(f"arms.{name} is bare: without a database there are no users, and no keys")
        return self

    @model_validator(mode="after")
    def _further_comparisons_are_valid(self) -> Self:
        if self.compare and self.session.design is not Design.BLOCKS:
            raise ValueError("compare: only blocks have further comparisons", 'Set session.design = "blocks".')
        for pair in self.compare:
            if self.baseline in pair or len(set(pair)) < len(pair):
                raise ValueError(f"compare: expected two arms besides the baseline, got {' and '.join(pair)}")
        return self

    @model_validator(mode="after")
    def _queue_is_valid(self) -> Self:
        arms = self.queue.arms if self.queue else []
        loads = [self.load_of(name) for name in arms]
        if any(load.arrivals != CLOSED for load in loads):
            raise ValueError("queue: its arms need a closed load", f'Give its arms arrivals = "{CLOSED}".')
        if len({load.users for load in loads}) < len(arms):
            raise ValueError("queue: each of its arms needs another number of users")
        if any(self.arms[name].workers > 1 for name in arms):
            raise ValueError("queue: the model has one server", "Give each of its arms one worker.")
        return self

    @model_validator(mode="after")
    def _metrics_can_be_judged(self) -> Self:
        if sum(judged.primary for judged in self.figures.values()) != 1:
            raise ValueError("exactly one metric is primary")
        for name, judged in self.figures.items():
            if name != FUNCTION_METRIC and (judged.about or judged.title or judged.unit or judged.is_part):
                raise ValueError(
                    f"figures.{name} is known already", "Leave out `about`, `title`, `unit` and `is_part`."
                )
            if judged.floor and METRICS[name].usual.scale is Scale.POINTS:
                raise ValueError(f"figures.{name} is a share", "Its margin is in points already: leave out the floor.")
        functions = {arm.subject is Kind.FUNCTION for arm in self.arms.values()}
        if len(functions) > 1:
            raise ValueError("functions are compared with functions only")
        for name in self.figures:
            if METRICS[name].is_of_functions and functions != {True}:
                raise ValueError(f"figures.{name} is measured by functions only")
        if FUNCTION_METRIC in self.figures and len(self.figures) > 1:
            raise ValueError(f"figures.{FUNCTION_METRIC} is the only metric of a function that returns a number")
        return self

    @model_validator(mode="after")
    def _there_is_something_to_compare(self) -> Self:
        if len(self.arms) == 1 and not (self.session.noise and self.arms[self.baseline].subject is Kind.PROXY):
            raise ValueError("there is nothing to compare: a single arm, and no second baseline beside it")
        if len({self.baseline, *self._ablated()}) != 1 + len(self._ablated()):
            raise ValueError("the baseline, an ablation's full arm and its switches' arms must be different arms")
        return self

    def _arms_named(self) -> list[str]:
        names = [self.baseline, *self._ablated(), *(self.queue.arms if self.queue else []), *self.criteria]
        names += [name for pair in self.compare for name in pair]
        for finding in self.expected:
            names += [finding.arm, *finding.runs]
        return names

    def _metrics_named(self) -> list[str]:
        names = list(self.figures)
        for finding in self.expected:
            names += [*finding.figures, *(name for values in finding.runs.values() for name in values)]
        return [*names, *(name for bounds in self.criteria.values() for name in bounds)]

    def _ablated(self) -> list[str]:
        return (
            [self.ablation.full, *(switch.arm for switch in self.ablation.switches.values())] if self.ablation else []
        )

    @property
    def comparisons(self) -> list[tuple[str, str]]:
        """The pairs of arms that are compared."""
        pairs = [(self.baseline, name) for name in self.arms if name != self.baseline]
        if self.ablation:
            pairs += [(self.ablation.full, switch.arm) for switch in self.ablation.switches.values()]
        pairs += self.compare
        # A second process of a function cannot differ.
        noise = self.session.noise and self.arms[self.baseline].subject is Kind.PROXY
        return [*pairs, *([(self.baseline, AGAIN)] if noise else [])]

    @property
    def arm_groups(self) -> list[tuple[str, ...]]:
        """The groups of arms that run together: the two of each comparison, or all arms of a block."""
        if self.session.design is not Design.BLOCKS:
            return [*self.comparisons]
        return [tuple(dict.fromkeys(arm for pair in self.comparisons for arm in pair))]

    def arm(self, name: str) -> Arm | None:
        """Return an arm by name: for the second baseline the baseline, for the mock alone `None`."""
        return self.arms.get(name, self.arms[self.baseline] if name == AGAIN else None)

    def warm_up_of(self, arm: str) -> float:
        """Return how many seconds each window of an arm's warm-up lasts."""
        own = self.arm(arm)
        return self.session.warm_up if own is None or own.warm_up is None else own.warm_up

    def load_of(self, arm: str) -> Load:
        """Return the load of an arm. The runner's own arms have that of the baseline."""
        own = self.arm(arm)
        return Load.model_validate(self.load.model_dump() | own.load) if own and own.load else self.load

    @property
    def primary(self) -> str:
        """The name of the metric that decides."""
        return next(name for name, judged in self.figures.items() if judged.primary)

    @property
    def described(self) -> dict[str, Metric]:
        """Descriptions of all metrics. This file describes the metric of a function."""
        return METRICS | {
            name: replace(
                METRICS[name],
                about=judged.about or METRICS[name].about,
                title=judged.title or judged.about or METRICS[name].title,
                unit=judged.unit,
                is_part=judged.is_part,
            )
            for name, judged in self.figures.items()
            if name == FUNCTION_METRIC
        }

    @property
    def margins(self) -> dict[str, Margin]:
        """The smallest difference that matters, by metric."""
        return {
            name: Margin(metric_named(name).usual.scale, judged.margin, judged.floor)
            for name, judged in self.figures.items()
        }
