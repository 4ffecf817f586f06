"""What a proxy's configuration puts on the path of requests: a checklist, each entry with what it does and its cure.

A configuration says what is done for each request, not what that costs: an entry never says that it binds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenkeel_lab.diagnosis import words
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure
from evenkeel_lab.doctor.callbacks import JOURNAL, ROTATION, STOCK_PROMETHEUS, entries
from evenkeel_lab.doctor.config_file import resolved
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.terms import Kind
from litellm_evenkeel.rotation.sticky_terms import Backend
from litellm_evenkeel.settings import SECTION, Settings, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.doctor.config_file import ProxyConfig

WHY = "the configuration says so; what it costs here was not measured"
# A snapshot is the work of looking at each account, some ten microseconds: felt from here on if it is made so often.
OFTEN_SECONDS, MANY_ACCOUNTS = 1.0, 100
# What LiteLLM uses if nothing is said.
CONNECTIONS = {"AIOHTTP_CONNECTOR_LIMIT": 1000, "AIOHTTP_CONNECTOR_LIMIT_PER_HOST": 500}
BATCH_SECONDS = 10
VERBOSE = ("set_verbose", "json_logs")


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
            raise WrongUse(f"{self.config.path}: {wrong}", cure="evenkeel doctor --config says more.") from wrong

    @cached_property
    def callbacks(self) -> frozenset[str]:
        """The names of what it loads."""
        return frozenset(entry.name for entry in entries(self.config))

    @cached_property
    def accounts(self) -> int:
        """How many deployments its largest model group has."""
        models = self.config.values.get("model_list")
        several = models if isinstance(models, list) else []
        names = Counter(str(one.get("model_name")) for one in several if isinstance(one, dict))
        return max(names.values(), default=0)

    def said(self, section: str, name: str) -> Any:
        """Return a setting of LiteLLM's."""
        return resolved(self.config.section(section).get(name), self.environment)


def checklist(setup: Setup, e: Evidence) -> list[Finding]:
    """Ask all that a configuration can tell of a load."""
    return [found for check in CHECKS if (found := check(setup, e)) is not None]


def _costs(check: str, verdict: str, cure: str, *because: str) -> Finding:
    return Finding(check, Place.LOCAL, State.COSTS, verdict, because, sure=Sure.FAIR, why=WHY, cure=cure)


def _clear(check: str, verdict: str) -> Finding:
    return Finding(check, Place.LOCAL, State.CLEAR, verdict)


def _pins(setup: Setup, _: Evidence) -> Finding | None:
    if ROTATION not in setup.callbacks:
        return None
    sticky = setup.ours.rotation.sticky
    if not sticky.enabled or sticky.backend is Backend.MEMORY:
        return _clear("pins", "sessions are remembered in the worker's memory, or not at all")
    return _costs(
        "pins",
        f"a session that a worker does not know is looked up in {sticky.backend} before its first request goes on",
        "Where one worker serves a session, leave `rotation.sticky.backend` at memory.",
        f"a request waits up to {words.ms(sticky.fetch_timeout * 1000)} for it",
    )


def _journal(setup: Setup, _: Evidence) -> Finding | None:
    if JOURNAL not in setup.callbacks:
        return None
    journal = setup.ours.journal
    kinds = {journal.store, journal.second}
    if journal.flush_rows == 1 or journal.flush_every == 0:
        return _costs(
            "journal",
            "each request's row is written by itself",
            "Leave `journal.flush_rows` and `journal.flush_every` as they are.",
            f"flush_rows {journal.flush_rows}, flush_every {journal.flush_every:g} s",
        )
    if Kind.SQLITE in kinds and setup.workers > 1:
        return _costs(
            "journal",
            f"{setup.workers} workers write one file of SQLite, which one at a time may",
            "Give them `journal.store: postgres`.",
        )
    return _clear("journal", "rows are written in batches, beside requests")


def _snapshot(setup: Setup, _: Evidence) -> Finding | None:
    if ROTATION not in setup.callbacks:
        return None
    ttl = setup.ours.rotation.snapshot_ttl
    if ttl >= OFTEN_SECONDS or setup.accounts < MANY_ACCOUNTS:
        return _clear("snapshot", f"a view of {setup.accounts} accounts is made every {ttl:g} s")
    often = f"every {ttl:g} s" if ttl else "for each request"
    return _costs(
        "snapshot",
        f"a view of {setup.accounts} accounts is made {often}",
        "Leave `rotation.snapshot_ttl` at 10 s: failures, and limits that providers name, change it at once.",
    )


def _lines(setup: Setup, _: Evidence) -> Finding:
    level = setup.environment.get("LITELLM_LOG", "").upper()
    verbose = [f"`{name}`" for name in VERBOSE if setup.said("litellm_settings", name) is True]
    told = ["LITELLM_LOG=DEBUG"] if level == "DEBUG" else verbose
    if not told:
        return _clear("log lines", "nothing asks for lines about what is in a request")
    return _costs(
        "log lines", f"{', '.join(told)}: lines are written about each request", "Leave it out in production."
    )


def _connections(setup: Setup, e: Evidence) -> Finding:
    limits = {name: _number(setup.environment.get(name), usual) for name, usual in CONNECTIONS.items()}
    name, least = min(((name, limit) for name, limit in limits.items() if limit > 0), key=lambda one: one[1])
    there = e.split.in_flight
    if there <= least * setup.workers:
        return _clear("provider connections", f"{least} for each worker, {words.many(there)} requests were under way")
    return _costs(
        "provider connections",
        f"{words.many(there)} requests were under way, on {least} connections for each of {setup.workers} workers",
        f"Raise {name}, and see that the system allows as many open files.",
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
    seconds = _number(setup.said("general_settings", "proxy_batch_write_at"), BATCH_SECONDS)
    if seconds >= BATCH_SECONDS:
        return _clear("spend", f"what was spent is written every {seconds} s or so")
    return _costs(
        "spend", f"what was spent is written every {seconds} s", "Leave `proxy_batch_write_at` at 10 s or more."
    )


def _number(told: object, usual: int) -> int:
    try:
        return int(str(told)) if told is not None else usual
    except ValueError:
        return usual


CHECKS: tuple[Callable[[Setup, Evidence], Finding | None], ...] = (
    _pins,
    _journal,
    _snapshot,
    _lines,
    _connections,
    _prometheus,
    _spend,
)
