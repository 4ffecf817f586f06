from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import ScheduleMissed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ATTEMPTS = 3


@pytest.fixture(scope="session")
def run_drill() -> Callable[[Callable[[], Any]], Any]:
    """A function that runs a drill, and repeats it if the machine was too busy for the drill's schedule."""

    def run(drill: Callable[[], Any]) -> Any:
        for _ in range(ATTEMPTS - 1):
            try:
                return drill()
            except ScheduleMissed:
                continue
        return drill()

    return run
