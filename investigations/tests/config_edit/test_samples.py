"""LiteLLM's sample configurations with the plugin: each boots, answers a request, and can be restored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.compat.end_to_end import proxy
from evenkeel_lab.compat.environments import installed
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.servers.mock import mock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.compat.environments import Installed

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

VERSION, KEY = "1.110.2", "sk-a-key-for-a-test-alone"
# Those that need neither a database nor another service, each with a model of a provider that the mock stands for.
SAMPLES = {
    "adaptive_router_example": "smart-cheap-router",
    "code_interpreter_interception_config": "gpt-5",
    "dev_config": "anthropic-haiku-4-5",
    "disable_schema_update": "fake-openai-endpoint",
    "load_balancer": "gpt-3.5-turbo",
    "opentelemetry_config": "gpt-3.5-turbo",
    "pass_through_config": "claude-sonnet-4-5-20250929",
    "proxy_config": "gpt-4o",
    "simple_config": "gpt-5-mini",
    "store_model_db_config": "fake-openai-endpoint",
    "wildcard_config": "anthropic/claude-sonnet-4-5",
}


@pytest.fixture(scope="module")
async def litellm(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("litellm")
    return await installed(VERSION, folder / "environment", folder / "uv.log")


@pytest.fixture(scope="module")
async def provider(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with stack_folder() as folder, mock(folder, tmp_path_factory.mktemp("mock")) as running:
        yield running.url


@pytest.mark.parametrize(("name", "model"), SAMPLES.items())
async def test_a_sample_works_with_the_plugin_and_is_restored(
    name: str, model: str, litellm: Installed, provider: str, tmp_path: Path
) -> None:
    (package,) = litellm.command.parents[1].glob("lib/python*/site-packages/litellm/proxy")
    (sample,) = [*package.glob(f"{name}.yaml"), *package.glob(f"example_config_yaml/{name}.yaml")]
    for helper in sample.parent.glob("*.py"):
        shutil.copy(helper, tmp_path)
    config = Path(shutil.copy(sample, tmp_path / "config.yaml"))
    assert cli(["init", "--config", str(config), "--write"]) == 0
    # Keys, and the addresses of providers that the sample leaves to the environment.
    variables = {
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "sk-of-a-provider"),
        **dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL", "FAKE_OPENAI_API_BASE"), f"{provider}/v1"),
        "ANTHROPIC_API_BASE": provider,
    }
    headers = {"Authorization": f"Bearer {KEY}"}
    async with (
        proxy(litellm, config, KEY, tmp_path, variables) as url,
        client(seconds=30.0, base_url=url, headers=headers) as asking,
    ):
        body = {"model": model, "messages": [{"role": "user", "content": "ahoy"}]}
        response = await asking.post("/v1/chat/completions", json=body)
        assert response.status_code == 200, response.text
        accounts = (await asking.get("/evenkeel/accounts")).json()["accounts"]
        assert sum(sum(account["picks"].values()) for account in accounts) >= 1
        assert "evenkeel_metrics_events_total" in (await asking.get("/metrics/")).text
    assert cli(["init", "--config", str(config), "--undo"]) == 0
    assert config.read_bytes() == sample.read_bytes()
