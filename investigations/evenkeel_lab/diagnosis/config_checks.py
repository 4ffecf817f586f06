"""What a proxy's configuration puts on the path of requests: a checklist, each entry with what it does and its hint.

A configuration says what is done for each request, not what that costs: an entry never says that it binds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold
from evenkeel_lab.doctor.callbacks import JOURNAL, ROTATION, STOCK_PROMETHEUS, entries
from evenkeel_lab.doctor.config_file import resolved
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
# A snapshot is the work of looking at each account. Made for each request, it took up to 2.8 % more CPU time with a
# hundred of them and up to 2.9 % with so many, neither of which matters; what more of them take was not measured.
OFTEN_SECONDS, MANY_ACCOUNTS = 1.0, 1000
# What LiteLLM uses if nothing is said; and what aiohttp does where LiteLLM hands no limit on, as with 0.
TOTAL, PER_HOST = ("AIOHTTP_CONNECTOR_LIMIT", 1000), ("AIOHTTP_CONNECTOR_LIMIT_PER_HOST", 500)
NO_TOTAL, NO_PER_HOST = 100.0, inf
BATCH_SECONDS = 10.0
HTTPX = {"DISABLE_AIOHTTP_TRANSPORT": "disable_aiohttp_transport", "LITELLM_HTTP2": "http2"}
LEVELS, SWITCHES, ON = ("DEBUG", "INFO"), ("DETAILED_DEBUG", "DEBUG"), ("1", "true", "t", "yes", "y", "on")


@dataclass(frozen=True)
class Setup:
    """A proxy as it is configured."""

    config: ProxyConfig
    environment: Mapping[str, str]
    workers: int = 1

    @cached_property
    def ours(self) -> Settings:
        """What it says to the plugin."""
        try:
            return settings(resolved(self.config.values.get(SECTION), self.environment), self.environment)
        except SettingsError as wrong:
            raise WrongUse(f"{self.config.path}: {wrong}", hint="evenkeel doctor --config says more.") from wrong

    @cached_property
    def callbacks(self) -> frozenset[str]:
        """The names of what it loads."""
        return frozenset(entry.name for entry in entries(self.config))

    @cached_property
    def deployments(self) -> list[Mapping[str, Any]]:
        """What its list of models names."""
        models = resolved(self.config.values.get("model_list"), self.environment)
        return [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []

    @property
    def accounts(self) -> int:
        """How many deployments its largest model group has."""
        return max(Counter(str(one.get("model_name")) for one in self.deployments).values(), default=0)

    @property
    def hosts(self) -> int:
        """How many hosts they are at, where one that names none is at its provider's."""
        told = [one.get("litellm_params") for one in self.deployments]
        return max(1, len({_host(params) for params in told if isinstance(params, dict)}))

    @property
    def limits_connections(self) -> bool:
        """Whether it speaks to providers through aiohttp, which alone has the limits that variables set."""
        return not any(
            self.environment.get(variable, "").strip().lower() == "true"
            or self.said("litellm_settings", setting) is True
            for variable, setting in HTTPX.items()
        )

    def said(self, section: str, name: str) -> Any:
        """Return a setting of LiteLLM's."""
        return resolved(self.config.section(section).get(name), self.environment)

    def is_on(self, option: str) -> bool:
        """Whether a variable switches an option of LiteLLM's command line on."""
        return self.environment.get(option, "").strip().lower() in ON


def checklist(setup: Setup, e: Evidence) -> list[Finding]:
    """Ask all that a configuration can tell of a load."""
    return [found for check in CHECKS if (found := check(setup, e)) is not None]


def _costs(check: str, verdict: str, hint: str, *because: str) -> Finding:
    return Finding(check, Place.LOCAL, State.COSTS, verdict, because, sure=Sure.FAIR, why=WHY, hint=hint)


def _clear(check: str, verdict: str) -> Finding:
    return Finding(check, Place.LOCAL, State.CLEAR, verdict)


def _pins(setup: Setup, _: Evidence) -> Finding | None:
    if ROTATION not in setup.callbacks:
        return None
    sticky = setup.ours.rotation.affinity
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
    journal = setup.ours.journal
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
    ttl = setup.ours.rotation.snapshot_ttl
    if ttl >= OFTEN_SECONDS or setup.accounts < MANY_ACCOUNTS:
        return _clear("snapshot", f"a view of {setup.accounts} accounts is made every {ttl:g} s")
    return _costs(
        "snapshot",
        f"a view of {setup.accounts} accounts is made every {ttl:g} s",
        "Leave `rotation.snapshot_ttl` at 10 s: failures, and limits that providers name, change it at once.",
    )


def _lines(setup: Setup, _: Evidence) -> Finding:
    told = [f"{name}={setup.environment[name]}" for name in SWITCHES if setup.is_on(name)]
    if (level := setup.environment.get("LITELLM_LOG", "").upper()) in LEVELS:
        told.append(f"LITELLM_LOG={level}")
    if setup.said("litellm_settings", "set_verbose") is True:
        told.append("`set_verbose`")
    if not told:
        return _clear("log lines", "nothing asks for lines about what is in a request")
    return _costs(
        "log lines", f"{', '.join(told)}: lines are written about each request", "Leave it out in production."
    )


def _connections(setup: Setup, e: Evidence) -> Finding | None:
    if not setup.limits_connections:
        return None
    total, per_host = (_number(setup.environment.get(name), usual) for name, usual in (TOTAL, PER_HOST))
    total, per_host = total if total > 0 else NO_TOTAL, per_host if per_host > 0 else NO_PER_HOST
    least, most = min(total, per_host), min(total, per_host * setup.hosts)
    check, there = "provider connections", e.split.in_flight / setup.workers
    if there <= least:
        return _clear(check, f"{least:g} for each worker, {formatting.mean(there)} requests were under way in each")
    if there <= most:
        what = f"{formatting.mean(there)} requests were under way in each worker, on {least:g} connections to a host"
        return untold(check, Place.LOCAL, what, hint="see how many of them go to the same host")
    return _costs(
        check,
        f"{formatting.mean(there)} requests were under way in each worker, on {most:g} connections",
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
    seconds = _number(setup.said("general_settings", "proxy_batch_write_at"), usual)
    if seconds >= BATCH_SECONDS:
        return _clear("spend", f"what was spent is written every {seconds:g} s or so")
    return _costs(
        "spend",
        f"what was spent is written every {seconds:g} s",
        f"Leave `proxy_batch_write_at` at {BATCH_SECONDS:g} s or more.",
    )


def _number(told: object, usual: float) -> float:
    try:
        return float(str(told)) if told is not None else usual
    except ValueError:
        return usual


def _host(params: Mapping[str, Any]) -> str:
    """Return where a deployment is: the host that it names, else the provider in its model's name, if that has one."""
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
