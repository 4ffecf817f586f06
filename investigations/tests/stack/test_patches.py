"""Patches of LiteLLM's callback, on a double with the patched parts."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.investigation_spec.arm import Patch
from evenkeel_lab.stack.probes.patches_of_proxy import AUTH, CALLBACK, PATCHES, SERVER, UPDATES

if TYPE_CHECKING:
    from pathlib import Path

BUDGETS = ("key", "team", "user")


def callback(log: list[str]) -> Any:
    """A callback that does one thing after the other, as LiteLLM 1.81.8 does."""

    class PrometheusLogger:
        async def async_log_success_event(self) -> None:
            for name in UPDATES:
                getattr(self, name)()
            await self._increment_remaining_budget_metrics(spend=1.0)
            log.append("done")

        async def _increment_remaining_budget_metrics(self, spend: float) -> None:
            assert spend
            for name in BUDGETS:
                await getattr(self, f"_set_{name}_budget_metrics_after_api_request")(spend)

    def looked_up(name: str) -> Any:
        async def look(_: Any, spend: float) -> None:
            log.append(f"ask {name} {spend:g}")
            await asyncio.sleep(0)
            log.append(f"know {name}")

        return look

    for name in UPDATES:
        setattr(PrometheusLogger, name, lambda _: log.append("update"))
    for name in BUDGETS:
        setattr(PrometheusLogger, f"_set_{name}_budget_metrics_after_api_request", looked_up(name))
    return PrometheusLogger


UPDATED, LOOKED = ["update"] * len(UPDATES), [f"{what} {name}" for name in BUDGETS for what in ("ask", "know")]


@pytest.mark.parametrize(
    ("patch", "at_once", "in_the_end"),
    [
        ("early_return", [], []),
        ("skip_updates", [*LOOKED, "done"], [*LOOKED, "done"]),
        ("skip_budgets", [*UPDATED, "done"], [*UPDATED, "done"]),
        ("background_budgets", [*UPDATED, "done"], [*UPDATED, "done", *LOOKED]),
        ("parallel_budgets", [*UPDATED, *LOOKED[::2], *LOOKED[1::2], "done"], None),
    ],
)
async def test_a_patch_leaves_out_its_part_of_the_callback(
    patch: str, at_once: list[str], in_the_end: list[str] | None
) -> None:
    log: list[str] = []
    kind = callback(log)
    where, patched = PATCHES[patch]
    assert where == CALLBACK
    patched(SimpleNamespace(PrometheusLogger=kind))
    await kind().async_log_success_event()
    assert [one.removesuffix(" 1") for one in log] == at_once
    for _ in range(10):
        await asyncio.sleep(0)
    assert [one.removesuffix(" 1") for one in log] == (in_the_end or at_once)


def test_a_lookup_of_the_database_uses_the_cache_with_the_patch(tmp_path: Path) -> None:
    callback = tmp_path / "integrations" / "prometheus.py"
    callback.parent.mkdir()
    module = SimpleNamespace(
        __file__=str(tmp_path / "proxy" / "auth" / "auth_checks.py"),
        get_user_object=lambda user, *, check_db_only=None: (user, check_db_only),
    )
    where, patched = PATCHES["cached_budgets"]
    assert where == AUTH
    callback.write_text("get_user_object(check_db_only=False)")
    with pytest.raises(AttributeError, match="already reads the cache first"):
        patched(module)
    callback.write_text("get_user_object(check_db_only=True)")
    patched(module)
    assert module.get_user_object("u", check_db_only=True) == ("u", None)


def test_the_key_cache_has_room_for_all_keys() -> None:
    cache = SimpleNamespace(in_memory_cache=SimpleNamespace(max_size_in_memory=200))
    where, patched = PATCHES["large_key_cache"]
    assert where == SERVER
    patched(SimpleNamespace(user_api_key_cache=cache))
    assert cache.in_memory_cache.max_size_in_memory >= 10_000


def test_the_clock_is_an_hour_ahead_while_the_file_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, file = time.time, tmp_path / "clock"
    monkeypatch.setattr(time, "time", real)
    monkeypatch.setenv("CLOCK_OF_PROXY", str(file))
    PATCHES["jumping_clock"][1](SimpleNamespace())
    assert time.time() - real() < 60

    def wait_until(ahead: bool) -> None:  # noqa: FBT001
        while (time.time() - real() > 60) != ahead:
            time.sleep(0.01)

    file.touch()
    wait_until(ahead=True)
    file.unlink()
    wait_until(ahead=False)


# The clock is Python's own.
@pytest.mark.parametrize("patch", sorted({*PATCHES} - {"jumping_clock"}))
def test_a_version_without_the_patched_function_is_an_error(patch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWER_SHARE", "0.1")
    with pytest.raises(AttributeError):
        PATCHES[patch][1](SimpleNamespace(PrometheusLogger=type("PrometheusLogger", (), {})))


def test_every_patch_can_be_selected() -> None:
    assert {*PATCHES} == {one.value for one in Patch} - {""}
