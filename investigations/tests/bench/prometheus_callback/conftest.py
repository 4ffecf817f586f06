from __future__ import annotations

import pytest

from evenkeel_lab.bench.prometheus_callback.events import Event, events_file, read_events
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED


@pytest.fixture(scope="session")
def recorded() -> list[Event]:
    return read_events(events_file(RECORDED))
