"""The queueing model and its fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.queue_model import Server, fit, queueing
from evenkeel_lab.runner.schedule import schedule

servers = st.builds(Server, st.floats(0.01, 1000), st.floats(0.01, 1000))
USERS = {"one": 1, "ten": 10, "forty": 40}
SERVER = Server(10.0, 90.0)
WANTED = Investigation.model_validate(
    {
        "title": "x",
        "question": "x",
        "hypothesis": "x",
        "baseline": "ten",
        "arms": {name: {"about": name, "load": {"users": users}} for name, users in USERS.items()},
        "figures": {"mean": {"margin": 0.05, "primary": True}},
        "session": {"looks": [6]},
        "queue": {"arms": list(USERS)},
    }
)


@given(servers)
def test_alone_nobody_waits(server: Server) -> None:
    assert server.latency(1) == pytest.approx(server.service + server.delay)


@given(servers, st.integers(1, 60))
def test_a_queue_keeps_to_what_every_queue_keeps_to(server: Server, users: int) -> None:
    latency, throughput = server.latency(users), server.throughput(users)
    # Little's law; no more than the server can do; no sooner than alone, and no later than behind everybody else.
    assert throughput * latency / 1000 == pytest.approx(users)
    assert throughput <= 1000 / server.service * (1 + 1e-9)
    assert server.latency(1) <= latency * (1 + 1e-9)
    assert latency <= (users * server.service + server.delay) * (1 + 1e-9)
    assert server.latency(users + 1) >= latency * (1 - 1e-9)


@given(st.floats(1, 100), st.floats(1, 200), st.floats(0.3, 3))
def test_what_a_queue_has_shown_is_found_again(service: float, delay: float, wrong: float) -> None:
    server = Server(service, delay)
    found = fit([(users, server.latency(users)) for users in (1, 3, 10, 30, 100)], Server(service * wrong, delay))
    for users in (2, 20, 200):
        assert found.latency(users) == pytest.approx(server.latency(users), rel=0.02)


def runs(late: tuple[str, ...] = ()) -> dict[str, list[Run]]:
    """Run each arm as its queue would have it, within a percent."""
    source, found = np.random.default_rng(1), {}
    for scheduled in schedule(WANTED, 6):
        found[scheduled.name] = [
            Run(
                arm,
                start_ns=0,
                seconds=10.0,
                requests=int(SERVER.throughput(users) * 10),
                figures={
                    "mean": SERVER.latency(users) * source.normal(1, 0.01),
                    "throughput": SERVER.throughput(users),
                },
                cpu={"litellm": SERVER.service / 1000 * SERVER.throughput(users) * 10, "engine": 0.01},
                limited=("sent late",) if arm in late else (),
            )
            for arm in scheduled.arms
            if (users := WANTED.load_of(arm).users)
        ]
    return found


def test_the_arms_of_a_queue_are_set_beside_it() -> None:
    found = queueing(WANTED, runs())
    assert found is not None
    assert [(one.arm, one.users) for one in found.points] == [("one", 1), ("ten", 10), ("forty", 40)]
    assert all(one.low < one.latency < one.high for one in found.points)
    assert [one.in_system for one in found.points] == pytest.approx([1, 10, 40], rel=0.05)
    for server in (found.measured, found.fitted):
        assert server.service == pytest.approx(SERVER.service, rel=0.1)
        assert server.delay == pytest.approx(SERVER.delay, rel=0.1)


def test_of_what_was_not_measured_there_is_no_queue() -> None:
    assert queueing(WANTED, runs(late=("one",))) is None
    assert queueing(WANTED, {}) is None
    assert queueing(WANTED.model_copy(update={"queue": None}), runs()) is None
