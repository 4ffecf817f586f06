from __future__ import annotations

import pytest

from evenkeel_lab.bench.prometheus_callback.environments import RECORDED
from evenkeel_lab.bench.prometheus_callback.events import Event, place_of, read_events


@pytest.fixture(scope="session")
def recorded() -> list[Event]:
    return read_events(place_of(RECORDED))
