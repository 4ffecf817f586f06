"""Checks of callbacks: each exists, is in the right list, and is listed once."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.finding import Finding, error, ok, warning
from evenkeel_lab.doctor.plugin_names import PLUGIN, Kind, Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.doctor.config_file import ProxyConfig

CHECK = "callbacks"
LISTS = ("callbacks", "success_callback", "failure_callback")
STOCK_PROMETHEUS = "prometheus"
ROTATION, PROMETHEUS, JOURNAL = (f"{PLUGIN}.proxy.{name}" for name in ("rotation", "prometheus", "journal"))
GC_FREEZE, LEAN = f"{PLUGIN}.proxy.gc_freeze", f"{PLUGIN}.proxy.lean"
OURS = (ROTATION, PROMETHEUS, GC_FREEZE, JOURNAL, LEAN)
REMOTE = ("s3://", "gcs://")
# Settings that the Prometheus callback reads once, when it creates its series. LiteLLM itself brings
# `prometheus_deployment_and_latency_caller_identity` forward, and reads the end-user settings at each event.
READ_ONCE = frozenset(
    {
        "custom_prometheus_metadata_labels",
        "custom_prometheus_tags",
        "prometheus_emit_input_sequence_length_label",
        "prometheus_emit_rate_limit_labels",
        "prometheus_emit_stream_label",
        "prometheus_exclude_labels",
        "prometheus_exclude_metrics",
        "prometheus_latency_buckets",
        "prometheus_metrics_cleanup_interval_seconds",
        "prometheus_metrics_config",
        "prometheus_metrics_max_series_per_metric",
        "prometheus_metrics_ttl_seconds",
        "prometheus_user_budget_label_include_email_alias",
    }
)


@dataclass(frozen=True)
class Entry:
    """A callback in one of the lists of the configuration."""

    name: str
    list: str
    where: str

    @property
    def module(self) -> str:
        """The module that LiteLLM imports."""
        return self.name.rpartition(".")[0]

    @property
    def attribute(self) -> str:
        """The attribute that LiteLLM reads from the module."""
        return self.name.rpartition(".")[2]

    @property
    def is_ours(self) -> bool:
        """Whether the callback belongs to this project's plugin."""
        return self.name == PLUGIN or self.name.startswith(f"{PLUGIN}.")

    @property
    def is_prometheus(self) -> bool:
        """Whether it is the stock Prometheus callback or, judging by its name, a replacement."""
        return "prometheus" in self.name.lower()


@dataclass(frozen=True)
class Modules:
    """Names that the modules of callbacks define."""

    plugin: Mapping[str, Names | None] = field(default_factory=dict)
    """Modules of the installed plugin. `None` if the names of a module are unknown."""
    beside: Mapping[str, Names | None] = field(default_factory=dict)
    """Modules for which there is a file next to the configuration. LiteLLM prefers that file."""
    version: str = "not installed"


def entries(config: ProxyConfig) -> list[Entry]:
    """Return the callbacks of all lists."""
    settings = config.section("litellm_settings")
    findings = []
    for name in LISTS:
        value = settings.get(name)
        if isinstance(value, str):
            findings.append(Entry(value, name, config.where("litellm_settings", name)))
        elif isinstance(value, list):
            findings += [
                Entry(item, name, config.where("litellm_settings", name, index))
                for index, item in enumerate(value)
                if isinstance(item, str)
            ]
    return findings


def callbacks(config: ProxyConfig, modules: Modules) -> list[Finding]:
    """Check the callbacks of a configuration."""
    named = entries(config)
    findings = [*_shapes(config), *(finding for entry in named for finding in _judge(entry, modules))]
    findings += [*_files_in_the_way(named, modules), *_doubles(named)]
    findings += [*_two_prometheus(named), *_late_settings(config, named)]
    return findings or [ok(CHECK, "none is named", config.path.name)]


def _shapes(config: ProxyConfig) -> Iterator[Finding]:
    settings = config.section("litellm_settings")
    for name in LISTS:
        value, where = settings.get(name), config.where("litellm_settings", name)
        if name not in settings or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            continue
        if isinstance(value, str) and name == "callbacks" and "." in value:
            continue  # LiteLLM imports a single dotted name
        what = "is not a list"
        if isinstance(value, list):
            what = "has an item that is not text"
        yield error(
            CHECK, f"`{name}` {what}: the proxy would not start", where, hint='Write a list of names: `["NAME"]`.'
        )


def _judge(entry: Entry, modules: Modules) -> list[Finding]:
    if entry.is_ours:
        return [*_ours(entry, modules)] or [ok(CHECK, f"{entry.name} is there", entry.where)]
    if entry.name.startswith(REMOTE):
        return [ok(CHECK, f"{entry.name} is fetched by the proxy, not checked here", entry.where)]
    if entry.module in modules.beside:
        file = f"{entry.module.replace('.', '/')}.py"
        return [_beside(entry, file, modules.beside[entry.module])]
    if "." in entry.name:
        return [_check_unread_module(entry)]
    if entry.name != STOCK_PROMETHEUS and difflib.get_close_matches(entry.name, [STOCK_PROMETHEUS], cutoff=0.8):
        what, hint = f'"{entry.name}" is probably a misspelling', f'Did you mean "{STOCK_PROMETHEUS}"?'
        return [warning(CHECK, what, entry.where, hint=hint)]
    return [ok(CHECK, f'"{entry.name}" is left to LiteLLM', entry.where)]


def _ours(entry: Entry, modules: Modules) -> Iterator[Finding]:
    """Yield what is wrong with a callback of the plugin."""
    names = modules.plugin.get(entry.module, {})
    known = names is None or entry.attribute in names
    if entry.name in modules.plugin and not (known and names):
        yield error(CHECK, f"{entry.name} is a module, not a callback", entry.where, hint=_nearest(entry, modules))
    elif not known and entry.name in OURS:
        yield error(
            CHECK,
            f"the installed litellm-evenkeel ({modules.version}) has no callback {entry.name}",
            entry.where,
            hint="Install a version that has it, or remove the line.",
        )
    elif not known:
        yield error(CHECK, f"there is no {entry.name}", entry.where, hint=_nearest(entry, modules))
    elif names is not None and names[entry.attribute] is Kind.CLASS:
        yield _class_named(entry)
    if entry.list != "callbacks":
        yield error(
            CHECK,
            f"{entry.name} stands in `{entry.list}`, where LiteLLM does not call its hooks",
            entry.where,
            hint="Move it to `callbacks`.",
        )


def _beside(entry: Entry, file: str, names: Names | None) -> Finding:
    """Check a callback whose module is a file next to the configuration."""
    if names is not None and entry.attribute not in names:
        return error(CHECK, f"{file} defines no `{entry.attribute}`", entry.where, hint="Name what it defines.")
    if names is not None and names[entry.attribute] is Kind.CLASS:
        return _class_named(entry)
    return ok(CHECK, f"{entry.name} comes from {file}", entry.where)


def _check_unread_module(entry: Entry) -> Finding:
    """Check the name of a callback whose module only the proxy can import."""
    if "/" in entry.name or entry.name.endswith(".py"):
        return error(
            CHECK,
            f"{entry.name} is the path of a file: the proxy would not start",
            entry.where,
            hint="Write `module.object`, the module being a file beside the configuration or an installed one.",
        )
    near = difflib.get_close_matches(entry.name, OURS, n=1, cutoff=0.85)
    if near:
        what = f"{entry.name} is probably a misspelling"
        return warning(CHECK, what, entry.where, hint=f"Did you mean {near[0]}?")
    if entry.attribute[:1].isupper() and not entry.attribute.isupper():
        return warning(
            CHECK,
            f"{entry.name} looks like a class, and LiteLLM needs an instance",
            entry.where,
            hint="Name an instance of it that its module makes.",
        )
    return ok(CHECK, f"{entry.name} is imported by the proxy, not checked here", entry.where)


def _class_named(entry: Entry) -> Finding:
    return error(
        CHECK,
        f"{entry.name} is a class, and LiteLLM needs an instance",
        entry.where,
        hint="Name an instance of it that its module makes.",
    )


def _nearest(entry: Entry, modules: Modules) -> str:
    """Return a hint with the name that was probably meant."""
    names_of_proxy = [
        f"{PLUGIN}.proxy.{name}" for name in modules.plugin.get(f"{PLUGIN}.proxy") or () if name.islower()
    ]
    near = difflib.get_close_matches(entry.name, [*OURS, *names_of_proxy], n=1, cutoff=0.7)
    if not near:
        return f"The names are {', '.join(OURS)}."
    module, _, attribute = near[0].rpartition(".")
    names = modules.plugin.get(module, {})
    missing = (
        "" if names is None or attribute in names else f" The installed version, {modules.version}, does not have it."
    )
    return f"Did you mean {near[0]}?{missing}"


def _files_in_the_way(named: list[Entry], modules: Modules) -> Iterator[Finding]:
    """Yield an error for each file that LiteLLM would execute instead of importing the plugin's module of that name."""
    for module, entry in {entry.module: entry for entry in reversed(named) if entry.is_ours}.items():
        if module in modules.beside:
            yield error(
                CHECK,
                f"{module.replace('.', '/')}.py lies beside the configuration: LiteLLM would execute that file, and "
                f"what it makes would be there twice, with the installed {PLUGIN}",
                entry.where,
                hint="Move the configuration to another folder.",
            )


def _doubles(named: list[Entry]) -> Iterator[Finding]:
    for (name, list_name), times in Counter((entry.name, entry.list) for entry in named).items():
        if times > 1:
            last = [entry for entry in named if (entry.name, entry.list) == (name, list_name)][-1]
            make = error if last.is_ours else warning
            yield make(
                CHECK,
                f'"{name}" is listed {times} times in `{list_name}`: its hooks would run {times} times',
                last.where,
                hint="Keep one.",
            )


def _two_prometheus(named: list[Entry]) -> Iterator[Finding]:
    if not any(entry.name == PROMETHEUS for entry in named):
        return
    for entry in named:
        if entry.name == STOCK_PROMETHEUS:
            yield error(
                CHECK,
                f'"{STOCK_PROMETHEUS}" is listed beside {PROMETHEUS}: both would register the same series and the '
                "proxy would not start",
                entry.where,
                hint=f'Remove "{STOCK_PROMETHEUS}".',
            )


def _late_settings(config: ProxyConfig, named: list[Entry]) -> Iterator[Finding]:
    """Warn of settings below a callback that reads them when it is imported.

    LiteLLM applies settings from top to bottom, and imports callbacks in between. It creates the stock callback and
    the plugin's after all settings, so only other callbacks with a dotted name are affected.
    """
    imported_by = {
        entry.list for entry in named if entry.is_prometheus and "." in entry.name and entry.name != PROMETHEUS
    }
    if not imported_by:
        return
    keys = list(config.section("litellm_settings"))
    first = min(keys.index(name) for name in imported_by)
    late = [key for key in keys[first:] if key in READ_ONCE]
    if late:
        yield warning(
            CHECK,
            f"{', '.join(late)}: listed after `{keys[first]}`, so a Prometheus callback that makes its series when "
            "it is imported does not see it",
            config.where("litellm_settings", late[0]),
            hint=f"Move it above `{keys[first]}`.",
        )
