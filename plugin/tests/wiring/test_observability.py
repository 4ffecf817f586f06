"""Authorisation of the admin routes."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.wiring import observability

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics

SAMPLE = "evenkeel_rotation_snapshot_age_seconds"


def begun(counted: RotationMetrics, environ: dict[str, str]) -> None:
    router = AccountRouter(
        RotationSettings(),
        clock=lambda: 1e6,
        random=random.Random(1).random,
        spec=lambda one, model: DeploymentSpec.from_litellm(one, {}, model),
        observer=counted,
    )
    inspector = RotationInspector(router, counted.counts)
    controls = ControlSync(router.controls)
    observability.expose(
        inspector, counted, controls, lambda where, error: pytest.fail(f"{where}: {error}"), environ=environ
    )


def test_one_process_is_read_at_each_scrape() -> None:
    registry = CollectorRegistry()
    begun(observability.metrics(registry), {})
    assert registry.get_sample_value(SAMPLE) == 0


async def test_several_processes_write_again_and_again_instead() -> None:
    registry = CollectorRegistry()
    before = asyncio.all_tasks()
    begun(observability.metrics(registry), {"PROMETHEUS_MULTIPROC_DIR": "/there"})
    assert registry.get_sample_value(SAMPLE) is None
    (task,) = asyncio.all_tasks() - before
    task.cancel()
    await asyncio.wait([task])


def test_a_second_rotation_in_a_process_does_no_harm() -> None:
    registry = CollectorRegistry()
    begun(observability.metrics(registry), {})
    second = observability.metrics(registry)
    second.plugin_error("choosing")
    begun(second, {})
    assert registry.get_sample_value("evenkeel_rotation_plugin_errors_total", {"reason": "choosing"}) is None


def test_without_a_proxy_there_are_no_deployments() -> None:
    assert observability.deployments("chat") == ()
