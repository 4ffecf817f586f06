from __future__ import annotations

import pytest

from evenkeel_lab.bench.callback.events import Event, place_of, read_events
from evenkeel_lab.stack.subject import DEFAULT_VERSION


@pytest.fixture(scope="session")
def recorded() -> list[Event]:
    return read_events(place_of(DEFAULT_VERSION))
