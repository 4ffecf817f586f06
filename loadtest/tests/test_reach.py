"""Whether a target is there, before anything is sent to it."""

from __future__ import annotations

import socket

import pytest

from evenkeel_load.errors import LoadFailed
from evenkeel_load.run import reach


def test_a_target_that_takes_long_to_name_its_models_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel_load.run.REACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        reach(address, "sk-x")
    with pytest.raises(LoadFailed, match="Nothing answers"):
        reach(address, "sk-x")
