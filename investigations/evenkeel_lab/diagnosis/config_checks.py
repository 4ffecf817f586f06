"""Checks of a proxy's configuration for settings that add work to each request.

A configuration shows that work, not its cost. So no check here reports that something binds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown
from evenkeel_lab.doctor.callbacks import JOURNAL, ROTATION, STOCK_PROMETHEUS, entries
from evenkeel_lab.doctor.config_file import resolve_values
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.settings import StoreKind
from litellm_evenkeel.rotation.settings import SessionBackend
from litellm_evenkeel.settings import SECTION, Settings, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.doctor.config_file import ProxyConfig

WHY = "the configuration says so; what it costs here was not measured"
# A snapshot evaluates each account. With one snapshot per request, CPU time grew by up to 2.8 % at 100 accounts and by
# up to 2.9 % at 1,000, which does not matter. More accounts were not measured.
OFTEN_SECONDS, MANY_ACCOUNTS = 1.0, 1000
# Defaults of LiteLLM; and of aiohttp, which apply if LiteLLM passes no limit on, as with 0.
TOTAL, PER_HOST = ("AIOHTTP_CONNECTOR_LIMIT", 1000), ("AIOHTTP_CONNECTOR_LIMIT_PER_HOST", 500)
NO_TOTAL, NO_PER_HOST = 100.0, inf
BATCH_SECONDS = 10.0
HTTPX = {"DISABLE_AIOHTTP_TRANSPORT": "disable_aiohttp_transport", "LITELLM_HTTP2": "http2"}
LEVELS, SWITCHES, ON = ("DEBUG", "INFO"), ("DETAILED_DEBUG", "DEBUG"), ("1", "true", "t", "yes", "y", "on")


@dataclass(frozen=True)
class Setup:
    """Configuration of a proxy: its file, its environment and its number of workers."""

    config: ProxyConfig
    environment: Mapping[str, str]
    workers: int = 1

    @cached_property
    def plugin_settings(self) -> Settings:
        """Settings of the plugin."""
        try:
            return settings(resolve_values(self.config.values.get(SECTION), self.environment), self.environment)
        except SettingsError as wrong:
            raise WrongUse(
                f"{self.config.path}: {wrong}", hint="Run `evenkeel doctor --config` for details."
            ) from wrong

    @cached_property
    def callbacks(self) -> frozenset[str]:
        """Names of the callbacks."""
        return frozenset(entry.name for entry in entries(self.config))

    @cached_property
    def deployments(self) -> list[Mapping[str, Any]]:
        """Deployments of `model_list`."""
        models = resolve_values(self.config.values.get("model_list"), self.environment)
        return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []

    @property
    def accounts(self) -> int:
        """Number of deployments of the largest model group."""
        return max(Counter(str(deployment.get("model_name")) for deployment in self.deployments).values(), default=0)

    @property
    def hosts(self) -> int:
        """Number of hosts of the deployments. A deployment without a host counts for its provider's."""
        all_params = [deployment.get("litellm_params") for deployment in self.deployments]
        return max(1, len({_host(params) for params in all_params if isinstance(params, dict)}))

    @property
    def limits_connections(self) -> bool:
        """Whether the proxy uses aiohttp for providers: only then the limits of the environment variables apply."""
        return not any(
            self.environment.get(variable, "").strip().lower() == "true"
            or self.litellm_setting("litellm_settings", setting) is True
            for variable, setting in HTTPX.items()
        )

    def litellm_setting(self, section: str, name: str) -> Any:
        """Return a setting of LiteLLM, or `None` if it is not set."""
        return resolve_values(self.config.section(section).get(name), self.environment)

    def is_on(self, option: str) -> bool:
        """Whether the environment variable `option` enables an option of LiteLLM's command line."""
        return self.environment.get(option, "").strip().lower() in ON


def check_config(setup: Setup, e: Evidence) -> list[Finding]:
    """Run all checks of a configuration."""
    return [finding for check in CHECKS if (finding := check(setup, e)) is not None]


def _costs(check: str, verdict: str, hint: str, *because: str) -> Finding:
    return Finding(
        check, Location.LOCAL, Impact.COSTS, verdict, because, confidence=Confidence.FAIR, why=WHY, hint=hint
    )


def _clear(check: str, verdict: str) -> Finding:
    return Finding(check, Location.LOCAL, Impact.CLEAR, verdict)


def _pins(setup: Setup, _: Evidence) -> Finding | None:
    if ROTATION not in setup.callbacks:
        return None
    sticky = setup.plugin_settings.rotation.affinity
    if not sticky.enabled or sticky.backend is SessionBackend.MEMORY:
        return _clear("pins", "sessions are remembered in the worker's memory, or not at all")
    return _costs(
        "pins",
        f"a session that a worker does not know is looked up in {sticky.backend} before its first request goes on",
        "Where one worker serves a session, leave `rotation.affinity.backend` at memory.",
        f"a request waits up to {formatting.ms(sticky.fetch_timeout * 1000)} for it",
    )


def _journal(setup: Setup, _: Evidence) -> Finding | None:
    if JOURNAL not in setup.callbacks:
        return None
    journal = setup.plugin_settings.journal
    kinds = {journal.store, journal.copy_to}
    if journal.batch_size == 1:
        return _costs(
            "journal", "each request's row is written by itself", "Leave `journal.batch_size: 1` out: 500 is usual."
        )
    if StoreKind.SQLITE in kinds and setup.workers > 1:
        return _costs(
            "journal",
            f"{setup.workers} workers write one file of SQLite, which one at a time may",
            "Give them `journal.store: postgres`."
            if StoreKind.POSTGRES not in kinds
            else "Bring the move to Postgres to its end, and leave the file out.",
        )
    return _clear("journal", "rows are written in batches, beside requests")


def _snapshot(setup: Setup, _: Evidence) -> Finding | None:
    if ROTATION not in setup.callbacks:
        return None
    ttl = setup.plugin_settings.rotation.snapshot_ttl
    if ttl >= OFTEN_SECONDS or setup.accounts < MANY_ACCOUNTS:
        return _clear("snapshot", f"a view of {setup.accounts} accounts is made every {ttl:g} s")
    return _costs(
        "snapshot",
        f"a view of {setup.accounts} accounts is made every {ttl:g} s",
        "Leave `rotation.snapshot_ttl` at 10 s: failures, and limits that providers name, change it at once.",
    )


def _lines(setup: Setup, _: Evidence) -> Finding:
    switches = [f"{name}={setup.environment[name]}" for name in SWITCHES if setup.is_on(name)]
    if (level := setup.environment.get("LITELLM_LOG", "").upper()) in LEVELS:
        switches.append(f"LITELLM_LOG={level}")
    if setup.litellm_setting("litellm_settings", "set_verbose") is True:
        switches.append("`set_verbose`")
    if not switches:
        return _clear("log lines", "nothing asks for lines about what is in a request")
    return _costs(
        "log lines", f"{', '.join(switches)}: lines are written about each request", "Leave it out in production."
    )


def _connections(setup: Setup, e: Evidence) -> Finding | None:
    if not setup.limits_connections:
        return None
    total, per_host = (_number(setup.environment.get(name), usual) for name, usual in (TOTAL, PER_HOST))
    total, per_host = total if total > 0 else NO_TOTAL, per_host if per_host > 0 else NO_PER_HOST
    least, most = min(total, per_host), min(total, per_host * setup.hosts)
    check, in_flight = "provider connections", e.split.in_flight / setup.workers
    if in_flight <= least:
        return _clear(check, f"{least:g} for each worker, {formatting.mean(in_flight)} requests were under way in each")
    if in_flight <= most:
        what = (
            f"{formatting.mean(in_flight)} requests were under way in each worker, on {least:g} connections to a host"
        )
        return unknown(check, Location.LOCAL, what, hint="see how many of them go to the same host")
    return _costs(
        check,
        f"{formatting.mean(in_flight)} requests were under way in each worker, on {most:g} connections",
        f"Raise {(TOTAL if total <= most else PER_HOST)[0]}, and see that the system allows as many open files.",
    )


def _prometheus(setup: Setup, _: Evidence) -> Finding | None:
    if STOCK_PROMETHEUS not in setup.callbacks:
        return None
    return _costs(
        "prometheus",
        "LiteLLM's own Prometheus callback looks budgets up, and updates each series, for each request",
        "Name `litellm_evenkeel.proxy.prometheus` in its place.",
    )


def _spend(setup: Setup, _: Evidence) -> Finding:
    usual = _number(setup.environment.get("PROXY_BATCH_WRITE_AT"), BATCH_SECONDS)
    seconds = _number(setup.litellm_setting("general_settings", "proxy_batch_write_at"), usual)
    if seconds >= BATCH_SECONDS:
        return _clear("spend", f"what was spent is written every {seconds:g} s or so")
    return _costs(
        "spend",
        f"what was spent is written every {seconds:g} s",
        f"Leave `proxy_batch_write_at` at {BATCH_SECONDS:g} s or more.",
    )


def _number(value: object, default: float) -> float:
    try:
        return float(str(value)) if value is not None else default
    except ValueError:
        return default


def _host(params: Mapping[str, Any]) -> str:
    """Return a deployment's host, else the provider in its model's name, else an empty string."""
    base, (provider, named, _) = params.get("api_base"), str(params.get("model")).partition("/")
    return urlsplit(str(base)).netloc if base else named and provider


CHECKS: tuple[Callable[[Setup, Evidence], Finding | None], ...] = (
    _pins,
    _journal,
    _snapshot,
    _lines,
    _connections,
    _prometheus,
    _spend,
)
