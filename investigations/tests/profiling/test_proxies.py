"""Profiles of a real LiteLLM under load, with either sampler, and its traces. Slow: it boots for half a minute."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import psutil
import pytest
import pytest_asyncio

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.profiling import in_process_probe, pyspy
from evenkeel_lab.profiling.capture import Profiler
from evenkeel_lab.profiling.profile import FILE, MOST_BYTES, read
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.targets import Target, targets
from evenkeel_lab.stack.probes.traces_of_proxy import AUTHENTICATION, PROVIDER, REDIS
from evenkeel_lab.stack.stack import Options, stack
from evenkeel_lab.tracing.capture import TraceCapture
from evenkeel_lab.tracing.traces import FILE as TRACES, read as read_traces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.profiling.sampler import Sampler

pytestmark = pytest.mark.slow

WANTED = Investigation.model_validate(
    {
        "title": "x",
        "question": "x",
        "hypothesis": "x",
        "baseline": "stock",
        "arms": {"stock": {"about": "with the stock callback", "prometheus": "stock", "workers": 2}},
        "load": {"users": 10, "duration": 6.0},
        "figures": {"p50": {"margin": 0.05, "primary": True}},
    }
)


@pytest_asyncio.fixture(scope="module")
async def found() -> AsyncIterator[dict[str, Target]]:
    options = Options().with_mock({"seed": 7, "latency": {"ttft_ms": 20}}, 1)
    async with stack(options) as below, targets(below, WANTED, [tuple(WANTED.arms)]) as found:
        yield found[frozenset(WANTED.arms)]


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param(pyspy.record, id="py-spy", marks=pytest.mark.thorough),
        pytest.param(in_process_probe.record, id="probe"),
    ],
)
async def test_a_proxys_profile_names_the_functions_that_a_request_goes_through(
    found: dict[str, Target], tmp_path: Path, sampler: Sampler
) -> None:
    store = Store(tmp_path)
    store.begin("x", WANTED, provenance("stand-in"))
    stop = Event()
    try:
        await Profiler("x", WANTED, store, Silent(), stop, (sampler,), seconds=6.0)(found)
    finally:
        stop.set()
    assert (tmp_path / FILE).stat().st_size < MOST_BYTES
    taken = read(tmp_path / FILE).arms["stock"]
    spent = {name: one.cumulated / sum(taken.stacks.values()) for name, one in taken.functions.items()}
    assert spent["uvicorn/protocols/http/h11_impl.py:RequestResponseCycle.run_asgi"] > 0.1
    assert spent["litellm/integrations/prometheus.py:PrometheusLogger.async_log_success_event"] > 0.005
    assert 0.5 < taken.covered <= 1
    # What is measured is measured anew afterwards: nothing looks at it any more.
    assert not [one for one in psutil.process_iter() if one.name() == "py-spy"]
    pid = found["stock"].pid
    assert pid is not None
    assert psutil.Process(pid).is_running()


async def test_a_proxys_traces_tell_what_its_requests_waited_for(found: dict[str, Target], tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.begin("x", WANTED, provenance("stand-in"))
    await TraceCapture("x", WANTED, store, Silent(), Event())(found)
    traces = read_traces(tmp_path / TRACES)
    of_arm = traces.arms["stock"]
    assert len(of_arm) > WANTED.load.users
    # The provider's first token takes 20 ms.
    provider = traces.parts.index(PROVIDER)
    assert all(20 <= trace.waits[provider] <= trace.duration for trace in of_arm)
    for part in (AUTHENTICATION, REDIS):
        assert any(trace.waits[traces.parts.index(part)] for trace in of_arm)
