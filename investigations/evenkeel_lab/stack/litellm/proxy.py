"""The proxy under test: an unmodified LiteLLM, started with a generated configuration."""

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
READY_SECONDS = 180.0
STOP_SECONDS = 6.0
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True)
class Services:
    """What a proxy stands on."""

    mock_url: str
    database_url: str
    redis_url: str
    environment: Environment
    node: Node
    engine: Engine
    plugin: Path
    path_stubs: Path
    lag: Path | None = None
    """Where the proxy's processes write how late their event loops are, if anybody wants to know."""


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
        """Where its query engines say that they are there."""
        return self.config.parent / ENGINES

    @property
    def journal(self) -> Path | None:
        """The file that rows of requests go to, if they go to one."""
        told = _of_journal(self.spec)
        if told is None or Journal.SQLITE not in {told.get("store", Journal.SQLITE), told.get("copy_to")}:
            return None
        return self.config.parent / str(told.get("path", JournalSettings().path))


def _of_journal(spec: ProxySpec) -> Mapping[str, Any] | None:
    """Return what is written for the journal, if there is one."""
    if spec.journal is Journal.OFF:
        return None
    section: Mapping[str, Any] = proxy_config(spec, "").get("evenkeel") or {}
    return section.get("journal") or {}


def stops_within(spec: ProxySpec) -> float:
    """Return after how many seconds a proxy that was told to end hangs; what waits for a store may still be written."""
    told = _of_journal(spec)
    if told is None:
        return STOP_SECONDS
    return STOP_SECONDS + FINAL_EVENTS_SECONDS + (span(told.get("drain_timeout")) or JournalSettings().drain_timeout)


def proxy_env(services: Services, spec: ProxySpec, home: Path, master_key: str) -> dict[str, str]:
    """Return the whole environment of a proxy. Nothing of the user's own leaks into a measurement."""
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
        # When it starts, LiteLLM draws how often it writes what was spent, once in 10 to 15 seconds: as long as they
        # live, two proxies that are the same would cost more or less by it. Several workers had better not agree on it.
        if spec.workers == 1:
            env |= {"SEED_OF_PROXY": SEED, "PYTHONHASHSEED": SEED}
    if spec.patch:
        env["PATCH_OF_PROXY"] = spec.patch
    env |= prisma_env(services.node, services.engine, folders["prisma"])
    env["PATH"] = os.pathsep.join([str(services.path_stubs), str(services.environment.python.parent), env["PATH"]])
    schema = schema_of(services.database_url)
    if schema and not spec.bare:
        env["DATABASE_SCHEMA"] = schema
    if spec.workers > 1:
        # By default a worker that does not answer within 5 s is killed and started anew. Where many boot at once none
        # comes further than that, for ever.
        env["TIMEOUT_WORKER_HEALTHCHECK"] = str(int(READY_SECONDS))
    if spec.workers > 1 and spec.prometheus is not Prometheus.OFF:
        env["PROMETHEUS_MULTIPROC_DIR"] = str(folders["prometheus"])
    if taken := env.keys() & spec.env.keys():
        raise WrongUse(f"{', '.join(sorted(taken))} cannot be set: the stack does.", hint="Leave it out of env.")
    return env | dict(spec.env)


@contextlib.asynccontextmanager
async def proxy(
    services: Services, spec: ProxySpec, folder: Path, logs: Path, *, port: int | None = None, name: str = "litellm"
) -> AsyncIterator[Proxy]:
    """Run a proxy until it is left. A proxy that dies at boot is an error with the end of its log."""
    port = free_port(port)
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
    config = home / "config.yaml"
    write_yaml(proxy_config(spec, services.mock_url), config)
    # Not one of the well-known keys, which LiteLLM refuses.
    master_key = "sk-" + secrets.token_hex(24)
    python = services.environment.python
    arguments = ["--config", config, "--host", LOOPBACK, "--port", port, "--num_workers", spec.workers]
    if spec.keep_alive is not None:
        arguments += ["--keepalive_timeout", spec.keep_alive]
    command = Command(
        f"LiteLLM {spec.litellm}",
        [python, python.with_name("litellm"), *map(str, arguments)],
        env=proxy_env(services, spec, home, master_key),
        cwd=home,
        log=logs / f"{name}.log",
        grace=stops_within(spec),
        folder=folder,
    )
    url = f"http://{LOOPBACK}:{port}"
    async with running(command) as child:
        seconds = await boot(child, url)
        info = ServiceInfo.of_process(child, name, spec.litellm, url, seconds)
        yield Proxy(info, spec, url, master_key, config, services)


async def boot(child: Child, url: str) -> float:
    """Wait until a proxy serves; say what its log says if it never does."""
    try:
        return await until_ready(child, lambda: answers(f"{url}/health/readiness"), READY_SECONDS)
    except ProcessFailed as error:
        refused = refusal_of(error.details)
        if refused is not None:
            raise refused from None
        what = " ".join([error.what.rstrip("."), *why_it_died(error.details)])
        raise ProcessFailed(f"{what}.", hint=hint_of(error.details) or error.hint, details=error.details) from None


def refusal_of(log: str) -> WrongUse | None:
    """Return what the plugin has against its settings, or against its LiteLLM; it says the hint itself."""
    found = re.findall(r"^litellm_evenkeel\.errors\.\w+: (.+)$", log, re.MULTILINE)
    if not found:
        return None
    what, _, hint = found[-1].partition(". ")
    return WrongUse(f"{what.rstrip('.')}.", hint=hint or "Mend it in the settings.")


def why_it_died(log: str) -> list[str]:
    """Return the last exception that the end of a log tells of, if there is one."""
    found = re.findall(r"^([\w.]*(?:Error|Exception): .+)$", log, re.MULTILINE)
    return [f"({found[-1].strip()})"] if found else []


def hint_of(log: str) -> str | None:
    """Return the hint for the commonest reasons why a proxy does not boot."""
    return next((hint for pattern, hint in BOOT_HINTS if re.search(pattern, log)), None)


BOOT_HINTS = (
    (r"address already in use", "Something took its port: start again, or name another port."),
    (r"Could not import \S+ from", "Check the names in litellm_settings.callbacks."),
    (r"Duplicated timeseries", "A callback is loaded twice: name it once in litellm_settings.callbacks."),
    (r"No module named", "Its environment lacks a package: evenkeel cache --clear, then again."),
)
