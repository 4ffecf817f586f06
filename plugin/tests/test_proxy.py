"""The callbacks that a proxy's YAML names. LiteLLM itself is not imported here; see investigations/tests/plugin."""

from __future__ import annotations

from importlib import metadata

import pytest

from litellm_evenkeel import proxy
from litellm_evenkeel.errors import UnsupportedLiteLLM


@pytest.fixture(autouse=True)
def no_callback_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget callbacks that other tests of this process created."""
    for name in proxy.CALLBACKS:
        monkeypatch.delitem(vars(proxy), name, raising=False)


@pytest.mark.parametrize("version", ["1.99.9", "1.81.8", "1.93.2"])
def test_an_older_litellm_is_refused_by_name(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(UnsupportedLiteLLM, match=rf"LiteLLM {version} is too old.*1\.100"):
        _ = proxy.rotation
    assert "rotation" not in vars(proxy)


def test_a_compromised_litellm_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "1.82.8")
    with pytest.raises(UnsupportedLiteLLM, match="compromised"):
        _ = proxy.rotation


def test_what_is_not_there_is_said_with_what_there_is() -> None:
    with pytest.raises(AttributeError, match="rotation"):
        _ = proxy.rotatoin


def test_a_callback_that_was_renamed_is_named() -> None:
    with pytest.raises(AttributeError, match=r"was renamed to litellm_evenkeel\.proxy\.gc_freeze"):
        _ = proxy.collector
