"""A change in LiteLLM that breaks the plugin is found in its source: each kind of change, planted in a real release."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from evenkeel_lab.compat.contract import contract
from evenkeel_lab.compat.lookup import Break, breaks
from evenkeel_lab.compat.source import Tree

VERSION = importlib.metadata.version("litellm")
LOGGER = "litellm.integrations.custom_logger.CustomLogger"
SERVER = "litellm.proxy.proxy_server"
WORKER = "litellm.litellm_core_utils.logging_worker.GLOBAL_LOGGING_WORKER"
PROMETHEUS = "litellm.integrations.prometheus.PrometheusLogger"
TAGS = "litellm.router_strategy.tag_based_routing"


class Plant(NamedTuple):
    """A change of one file."""

    file: str
    old: str
    new: str
    name: str
    """Of the entry that it breaks."""
    problem: str
    similar: str | None = None


PLANTS = {
    "a class is renamed": Plant(
        "litellm_core_utils/streaming_handler.py",
        "class CustomStreamWrapper:",
        "class StreamWrapper:",
        "litellm.litellm_core_utils.streaming_handler.CustomStreamWrapper.logging_obj",
        "there is no CustomStreamWrapper in",
    ),
    "a function becomes private": Plant(
        "integrations/prometheus_metrics_endpoint.py",
        "def make_metrics_asgi_app(",
        "def _make_metrics_asgi_app(",
        "litellm.integrations.prometheus_metrics_endpoint.make_metrics_asgi_app",
        "there is no make_metrics_asgi_app in",
        "litellm.integrations.prometheus_metrics_endpoint._make_metrics_asgi_app",
    ),
    "a hook is removed": Plant(
        "integrations/custom_logger.py",
        "async def async_post_call_failure_deployment_hook(",
        "async def async_post_call_something_hook(",
        f"{LOGGER}.async_post_call_failure_deployment_hook",
        "there is no async_post_call_failure_deployment_hook in",
    ),
    "a parameter of a hook is renamed": Plant(
        "integrations/custom_logger.py",
        "        healthy_deployments: list,\n        messages: list[AllMessageValues] | None,\n"
        "        request_kwargs: dict | None = None,\n        parent_otel_span: Span | None = None,",
        "        deployments: list,\n        messages: list[AllMessageValues] | None,\n"
        "        request_kwargs: dict | None = None,\n        parent_otel_span: Span | None = None,",
        f"{LOGGER}.async_filter_deployments",
        "has no parameter healthy_deployments",
    ),
    "a hook is called with more": Plant(
        "integrations/custom_logger.py",
        "async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):",
        "async def async_log_success_event(self, kwargs, response_obj, start_time, end_time, context=None):",
        f"{LOGGER}.async_log_success_event",
        "is called with context, which ours does not take",
    ),
    "a function wants more": Plant(
        "proxy/auth/auth_exception_handler.py",
        "def _as_proxy_exception(e: Exception)",
        "def _as_proxy_exception(e: Exception, request)",
        "litellm.proxy.auth.auth_exception_handler._as_proxy_exception",
        "needs the parameter request, which ours does not pass",
    ),
    "an attribute is gone": Plant(
        "litellm_core_utils/logging_worker.py",
        "self._queue",
        "self._waiting",
        f"{WORKER}._queue",
        "there is no _queue in",
    ),
    "a setting is gone": Plant(
        "__init__.py",
        "custom_prometheus_tags: List[str] = []\n",
        "",
        "litellm.custom_prometheus_tags",
        "there is no custom_prometheus_tags in litellm",
    ),
    "a metric is renamed": Plant(
        "integrations/prometheus.py",
        "litellm_remaining_team_budget_metric",
        "litellm_team_remaining_budget_metric",
        "litellm_remaining_team_budget_metric",
        "is not in litellm.integrations.prometheus",
    ),
    "a base class is another": Plant(
        "integrations/prometheus.py",
        "class PrometheusLogger(CustomLogger):",
        "class PrometheusLogger(CustomBatchLogger):",
        PROMETHEUS,
        f"is not derived from {LOGGER}",
    ),
    "what was called is awaited": Plant(
        "router.py",
        "    def _pre_call_checks(",
        "    async def _pre_call_checks(",
        f"{SERVER}.llm_router._pre_call_checks",
        "is an async function, not a function",
    ),
    "what was awaited is called": Plant(
        "proxy/proxy_server.py",
        "async def proxy_shutdown_event(",
        "def proxy_shutdown_event(",
        f"{SERVER}.proxy_shutdown_event",
        "is a function, not an async function",
    ),
    "a method becomes a property": Plant(
        "litellm_core_utils/logging_worker.py",
        "    def _flush_on_exit(self)",
        "    @property\n    def _flush_on_exit(self)",
        f"{WORKER}._flush_on_exit",
        "is a property, not a function",
    ),
    "a value is called something else": Plant(
        "proxy/proxy_server.py",
        "\nspend_counter_cache: ",
        "\nspend_counters: ",
        f"{SERVER}.spend_counter_cache",
        "there is no spend_counter_cache in litellm.proxy.proxy_server",
    ),
    "a field of an event is gone": Plant(
        "types/utils.py",
        "    model_id: str | None\n    model_group: str | None\n",
        "    model_group: str | None\n",
        "litellm.types.utils.StandardLoggingPayload",
        "has no model_id",
    ),
    "a mark in the names of classes is another": Plant(
        "litellm_core_utils/litellm_logging.py",
        '"_PROXY_"',
        '"Proxy"',
        "_PROXY_",
        "is not in litellm.litellm_core_utils.litellm_logging",
    ),
}


@pytest.fixture(scope="module")
def real() -> Tree:
    """The LiteLLM beside the tests."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    tree = Tree(Path(spec.origin).parents[1])
    assert breaks(tree, VERSION, contract()) == []
    return tree


@pytest.fixture
def copied(real: Tree, tmp_path: Path) -> Tree:
    """A copy of what is looked at, which may be changed; what is not changed is not parsed again."""
    for module in real._parsed.values():
        if module is not None and module.path.is_file():
            to = tmp_path / module.path.relative_to(real.root)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module.path, to)
    return Tree(tmp_path, dict(real._parsed))


def planted(tree: Tree, file: str, old: str, new: str) -> None:
    path = tree.root / "litellm" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    name = ".".join(path.relative_to(tree.root).with_suffix("").parts).removesuffix(".__init__")
    tree._parsed.pop(name)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=list(PLANTS))
def test_a_planted_break_is_detected(plant: Plant, copied: Tree) -> None:
    planted(copied, plant.file, plant.old, plant.new)
    found = breaks(copied, VERSION, contract())
    of_entry = [one for one in found if one.name == plant.name]
    assert [one for one in of_entry if plant.problem in one.problem], found
    assert {one.name for one in found if not one.name.startswith(plant.name)} <= also(plant)
    for one in of_entry:
        assert one.why
        assert one.needed_by
        assert plant.similar is None or plant.similar in one.similar


def also(plant: Plant) -> set[str]:
    """Return what breaks with it: the same method as LiteLLM's own callback has it."""
    return {name for name in (plant.name.replace(LOGGER, PROMETHEUS),) if name != plant.name}


def test_a_moved_module_is_located(copied: Tree) -> None:
    (copied.root / "litellm/router_strategy/tag_based_routing.py").rename(
        copied.root / "litellm/integrations/tag_based_routing.py"
    )
    copied._parsed.pop(TAGS)
    found = breaks(copied, VERSION, contract())
    assert {one.name for one in found} == {TAGS, f"{TAGS}.get_deployments_for_tag"}
    for one in found:
        assert one.problem == f"there is no module {TAGS}"
        assert one.similar == ("litellm.integrations.tag_based_routing",)
        assert one.needed_by == ("rotation.litellm_filters",)


def test_entries_for_other_versions_are_not_checked(copied: Tree) -> None:
    name = f"{SERVER}.llm_router.health"
    assert breaks(copied, "1.107.0", contract()) == []
    assert name in {one.name for one in breaks(copied, "1.109.0", contract())}


def test_a_break_shows_all_details(real: Tree) -> None:
    entry = contract()[0].model_copy(update={"name": "litellm.no.such.thing", "why": "so"})
    assert breaks(real, VERSION, [entry]) == [
        Break(
            version=VERSION,
            name="litellm.no.such.thing",
            problem="there is no module litellm.no",
            needed_by=entry.needed_by,
            why="so",
        )
    ]
