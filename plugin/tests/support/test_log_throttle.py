from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from litellm_evenkeel.support.log_throttle import LogThrottle


@given(st.floats(0.1, 100), st.lists(st.floats(0, 50), max_size=50))
def test_two_messages_are_an_interval_apart(interval: float, pauses: list[float]) -> None:
    throttle, now, logged = LogThrottle(interval), 1000.0, []
    for pause in pauses:
        now += pause
        if throttle.allows(now):
            logged.append(now)
    assert not pauses or logged
    assert all(second - first >= interval * (1 - 1e-9) for first, second in itertools.pairwise(logged))
