from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import ScheduleMissed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ATTEMPTS = 2


@pytest.fixture(scope="session")
def run_drill() -> Callable[[Callable[[], Any]], Any]:
    """A function that runs a drill, repeats it if it missed its schedule, and skips the test if it missed it again.

    A drill misses its schedule when the machine is too busy. Then it shows nothing, neither for nor against the plugin.
    """

    def run(drill: Callable[[], Any]) -> Any:
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                return drill()
            except ScheduleMissed as error:
                reason = str(error)
        return pytest.skip(reason)

    return run
