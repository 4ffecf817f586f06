"""A session of real proxies: what only they can show. Slow: it boots them."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.results.summary import gather
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.schedule import ScheduledPair

pytestmark = pytest.mark.slow

SHORT = Investigation.model_validate(
    {
        "title": "A short one",
        "question": "Does it run?",
        "hypothesis": "It does.",
        "baseline": "off",
        "arms": {
            "off": {"about": "no callback"},
            "on": {"about": "the callback", "prometheus": "stock", "journal": "sqlite"},
        },
        "load": {"users": 4, "requests": 60, "user_mode": "random"},
        "session": {"looks": [6], "noise": False},
        # Three windows of warming up, whatever they show.
        "gates": {"settled": 1.0},
        "figures": {"p50": {"margin": 0.05, "primary": True}, "cpu_ms": {"margin": 0.05}},
    }
)


class Enough(Exception):
    """The session was stopped."""


class Listening:
    def __init__(self, stop_after: int | None = None) -> None:
        self.heard: list[ScheduledPair] = []
        self._stop_after = stop_after

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        self.heard.append(scheduled)
        if len(self.heard) == self._stop_after:
            raise Enough


def session(folder: Path, told: Listening) -> Session:
    return Session("short", SHORT, Store(folder), Options(), Silent(), told, Event())


async def test_two_proxies_meet_and_go_on_where_they_were_stopped(tmp_path: Path) -> None:
    with pytest.raises(Enough):
        await session(tmp_path, Listening(stop_after=1)).conduct()
    rest = Listening()
    judgement = await session(tmp_path, rest).conduct()
    assert [one.pair for one in rest.heard] == [2, 3, 4, 5, 6]
    assert judgement.comparisons[0].candidate == "on"
    summary = gather(Store(tmp_path))
    runs = [run for runs in summary.done.values() for run in runs]
    assert len(runs) == 12
    for run in runs:
        assert run.requests == 60
        assert {"p50", "added_p50", "throughput", "cpu_ms", "memory_mib", "switches", "loop_lag"} <= run.figures.keys()
        assert {"database_calls", "prisma_calls", "valkey_calls"} <= run.figures.keys()
        assert run.figures["cpu_ms"] > 1
        assert run.operations
        assert 0 < run.provider < 0.5
        # The key is known already.
        assert run.operations.get("LiteLLM_VerificationToken.findUnique", 0) == 0
        # Of the arm with a file.
        assert run.figures.get("journal_locked") == (0.0 if run.arm == "on" else None)
    assert any("lock_waits" in run.figures for run in runs)
    assert summary.provenance["engine"] in {"stand-in", "native"}
    assert summary.warm_up.keys() == {"off beside on", "on beside off"}
