from __future__ import annotations

import psutil
import pytest

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.targets import PROXY_GIB, require_memory


def test_more_proxies_than_there_is_room_for_are_refused_before_any_is_started() -> None:
    room = int(psutil.virtual_memory().available / 2**30 / PROXY_GIB)
    require_memory(0)
    with pytest.raises(RigFailure, match=f"{room + 5} workers of proxies need") as refused:
        require_memory(room + 5)
    assert "fresh" in refused.value.hint
