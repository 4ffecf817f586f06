"""A LiteLLM proxy, unmodified, started with a generated configuration."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import ProcessFailed, WrongUse
from evenkeel_lab.stack.folders import turn_to_boot
from evenkeel_lab.stack.litellm.config import MODEL, Journal, Prometheus, ProxySpec, proxy_config
from evenkeel_lab.stack.litellm.environment import prisma_env
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Child, Command, running, until_ready
from evenkeel_lab.stack.servers.mock import answers
from evenkeel_lab.stack.servers.postgres import schema_of
from evenkeel_lab.stack.service_info import ServiceInfo
from evenkeel_lab.stack.yaml_file import write_yaml
from litellm_evenkeel.journal.settings import FINAL_EVENTS_SECONDS, JournalSettings
from litellm_evenkeel.support.durations import span

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from evenkeel_lab.stack.litellm.engine import Engine
    from evenkeel_lab.stack.litellm.environment import Environment
    from evenkeel_lab.stack.packages.node import Node

ENGINES = "engines"
PROBE = Path(__file__).parents[1] / "probes"
SEED = "0"
# A boot on a free core takes half a minute. On a busy machine, three minutes were too few.
READY_SECONDS = 300.0
HEALTH_CHECK_VARIABLE = "TIMEOUT_WORKER_HEALTHCHECK"
STOP_SECONDS = 6.0
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True)
class Services:
    """Services and tools that a proxy needs."""

    mock_url: str
    database_url: str
    redis_url: str
    environment: Environment
    node: Node
    engine: Engine
    plugin: Path
    path_stubs: Path
    lag: Path | None = None
    """File name prefix for measured event loop delays; `None` if they are not measured."""


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    info: ServiceInfo
    spec: ProxySpec
    url: str
    master_key: str
    config: Path
    services: Services
    model: str = MODEL

    @property
    def engines(self) -> Path:
        """Folder in which its query engines register."""
        return self.config.parent / ENGINES

    @property
    def journal(self) -> Path | None:
        """File of the journal, or `None` if it has no file."""
        section = _journal_section(self.spec)
        if section is None or Journal.SQLITE not in {section.get("store", Journal.SQLITE), section.get("copy_to")}:
            return None
        return self.config.parent / str(section.get("path", JournalSettings().path))


def _journal_section(spec: ProxySpec) -> Mapping[str, Any] | None:
    """Return the settings of the journal, or `None` if it is off."""
    if spec.journal is Journal.OFF:
        return None
    plugin: Mapping[str, Any] = proxy_config(spec, "").get("evenkeel") or {}
    return plugin.get("journal") or {}


def stop_seconds(spec: ProxySpec) -> float:
    """Return the seconds that a proxy has to stop, including those to write queued journal records."""
    section = _journal_section(spec)
    if section is None:
        return STOP_SECONDS
    return STOP_SECONDS + FINAL_EVENTS_SECONDS + (span(section.get("drain_timeout")) or JournalSettings().drain_timeout)


def proxy_env(services: Services, spec: ProxySpec, home: Path, master_key: str) -> dict[str, str]:
    """Return the environment of a proxy. It contains none of the user's variables except certificates."""
    folders = {name: home / name for name in ("home", "tmp", "prometheus", "prisma", ENGINES)}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    env = {name: os.environ[name] for name in CERTIFICATES if name in os.environ}
    env |= {
        "HOME": str(folders["home"]),
        "TMPDIR": str(folders["tmp"]),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(map(str, [services.plugin, *([PROBE] if services.lag or spec.patch else [])])),
        "DISABLE_SCHEMA_UPDATE": "true",
        "LITELLM_MASTER_KEY": master_key,
        "LITELLM_SALT_KEY": "sk-" + secrets.token_hex(16),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "EVENKEEL_ENGINE_REGISTRY": str(folders[ENGINES]),
    }
    if not spec.bare:
        env |= {"DATABASE_URL": services.database_url, "REDIS_URL": services.redis_url}
    if services.lag:
        env["LAG_OF_PROXY"] = str(services.lag)
        # At its start, LiteLLM draws the interval at which it writes spend, 10 to 15 seconds. Without a seed, identical
        # proxies would differ in cost. Several workers must not share the interval.
        if spec.workers == 1:
            env |= {"SEED_OF_PROXY": SEED, "PYTHONHASHSEED": SEED}
    if spec.patch:
        env["PATCH_OF_PROXY"] = spec.patch
    env |= prisma_env(services.node, services.engine, folders["prisma"])
    env["PATH"] = os.pathsep.join([str(services.path_stubs), str(services.environment.python.parent), env["PATH"]])
    schema = schema_of(services.database_url)
    if schema and not spec.bare:
        env["DATABASE_SCHEMA"] = schema
    if spec.workers > 1 and HEALTH_CHECK_VARIABLE not in spec.env:
        # By default, a worker that does not answer within 5 s is killed and restarted. If many boot at once, none would
        # ever finish.
        env[HEALTH_CHECK_VARIABLE] = str(int(READY_SECONDS))
    if spec.workers > 1 and spec.prometheus is not Prometheus.OFF:
        env["PROMETHEUS_MULTIPROC_DIR"] = str(folders["prometheus"])
    if reserved := env.keys() & spec.env.keys():
        raise WrongUse(
            f"{', '.join(sorted(reserved))} cannot be set in env: the stack sets it.", hint="Remove it from env."
        )
    return env | dict(spec.env)


@contextlib.asynccontextmanager
async def proxy(
    services: Services,
    spec: ProxySpec,
    folder: Path,
    logs: Path,
    *,
    home: Path | None = None,
    port: int | None = None,
    name: str = "litellm",
) -> AsyncIterator[Proxy]:
    """Run a proxy during the block, with its files in `home`, or else in `folder`.

    If it ends at boot, raise an error with the end of its log.
    """
    port = free_port(port)
    own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home or folder))
    config = own / "config.yaml"
    write_yaml(proxy_config(spec, services.mock_url), config)
    # LiteLLM refuses well-known keys.
    master_key = "sk-" + secrets.token_hex(24)
    python = services.environment.python
    arguments = ["--config", config, "--host", LOOPBACK, "--port", port, "--num_workers", spec.workers]
    if spec.keep_alive is not None:
        arguments += ["--keepalive_timeout", spec.keep_alive]
    command = Command(
        f"LiteLLM {spec.litellm}",
        [python, python.with_name("litellm"), *map(str, arguments)],
        env=proxy_env(services, spec, own, master_key),
        cwd=own,
        log=logs / f"{name}.log",
        grace=stop_seconds(spec),
        folder=folder,
    )
    url = f"http://{LOOPBACK}:{port}"
    async with contextlib.AsyncExitStack() as stopped:
        async with turn_to_boot(spec.workers):
            child = await stopped.enter_async_context(running(command))
            seconds = await boot(child, url)
        info = ServiceInfo.of_process(child, name, spec.litellm, url, seconds)
        yield Proxy(info, spec, url, master_key, config, services)


async def boot(child: Child, url: str) -> float:
    """Wait until a proxy serves, and return the seconds. Raise an error with the cause from its log if it does not."""
    try:
        return await until_ready(child, lambda: answers(f"{url}/health/readiness"), READY_SECONDS)
    except ProcessFailed as error:
        rejected = plugin_error(error.details)
        if rejected is not None:
            raise rejected from None
        what = " ".join([error.what.rstrip("."), *last_exception(error.details)])
        raise ProcessFailed(f"{what}.", hint=hint_of(error.details) or error.hint, details=error.details) from None


def plugin_error(log: str) -> WrongUse | None:
    """Return the error with which the plugin refused its settings or its LiteLLM, or `None`."""
    errors = re.findall(r"^litellm_evenkeel\.errors\.\w+: (.+)$", log, re.MULTILINE)
    if not errors:
        return None
    what, _, hint = errors[-1].partition(". ")
    return WrongUse(f"{what.rstrip('.')}.", hint=hint or "Correct the settings.")


def last_exception(log: str) -> list[str]:
    """Return the last exception in the end of a log, or an empty list."""
    exceptions = re.findall(r"^([\w.]*(?:Error|Exception): .+)$", log, re.MULTILINE)
    return [f"({exceptions[-1].strip()})"] if exceptions else []


def hint_of(log: str) -> str | None:
    """Return the hint for a common cause of failed boots, or `None`."""
    return next((hint for pattern, hint in BOOT_HINTS if re.search(pattern, log)), None)


BOOT_HINTS = (
    (r"address already in use", "Another process uses the port: start again, or use another port."),
    (r"Could not import \S+ from", "Check the names in litellm_settings.callbacks."),
    (r"Duplicated timeseries", "A callback is loaded twice: list it once in litellm_settings.callbacks."),
    (r"No module named", "Its environment lacks a package: evenkeel cache --clear, then again."),
)
