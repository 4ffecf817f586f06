"""The Redis servers and the database that a configuration names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from evenkeel_lab.doctor.config_file import ProxyConfig, reference, resolve_value
from evenkeel_lab.doctor.finding import Finding, error, warning

REDIS_PORT = 6379
POSTGRES_PORT = 5432
# Arguments of the Redis client. Each can also come from the variable REDIS_<NAME>.
REDIS_FIELDS = ("url", "host", "port", "username", "password", "db", "ssl")
# With these, a cloud's own library fetches the credentials, so only the port is checked.
BORROWED_CREDENTIALS = ("aws_iam_auth", "gcp_service_account", "azure_redis_ad_token")
UNREADABLE = "an address that cannot be read"


@dataclass(frozen=True)
class RedisTarget:
    """A Redis server that a configuration names."""

    name: str
    where: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Arguments of the client. They contain secrets."""
    port_only: bool = False
    required: bool = True
    """Whether the configuration names it; false if it comes from the environment alone."""

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Host and port. Raises `ValueError` if the address cannot be parsed."""
        if "url" not in self.options:
            return str(self.options["host"]), int(self.options.get("port", REDIS_PORT))
        address = host_and_port(str(self.options["url"]), REDIS_PORT)
        if address is None:
            raise ValueError(UNREADABLE)
        return address

    @property
    def address(self) -> str:
        """Host and port as text, without credentials."""
        try:
            host, port = self.host_and_port
        except (ValueError, TypeError, OverflowError):
            return UNREADABLE
        return f"{host}:{port}"


def host_and_port(url: str, default_port: int) -> tuple[str, int] | None:
    """Return host and port of `url`, or `None` if it has no host or is malformed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or default_port
    except ValueError:
        return None
    # With an unescaped `/`, `?` or `#` in the password, the host would be a part of the password.
    if "@" in parts.path + parts.query + parts.fragment:
        return None
    return (host, port) if host else None


def printable_address(url: str, default_port: int) -> str:
    """Return host and port of `url` as text, without credentials."""
    address = host_and_port(url, default_port)
    return f"{address[0]}:{address[1]}" if address else UNREADABLE


def redis_targets(config: ProxyConfig, environment: Mapping[str, str]) -> tuple[list[RedisTarget], list[Finding]]:
    """Return the Redis servers that the proxy would use, and findings about their settings."""
    # LiteLLM sets these variables after it resolves references and before it creates a client.
    later = {**environment, **_own_variables(config)}
    targets: list[RedisTarget] = []
    findings: list[Finding] = []
    for section, name, params in _redis_blocks(config, findings):
        where = config.where(section, name)
        if unusable := _unusable(config, (section, name), "", params, environment):
            findings += unusable
            continue
        target = _redis_target(name, where, params, environment, later)
        if target is None:
            findings.append(
                error(
                    "redis",
                    f"`{name}` names no host, and neither REDIS_HOST nor REDIS_URL is set",
                    where,
                    hint="Name a host or a url.",
                )
            )
        else:
            targets.append(target)
    router = config.section("router_settings")
    params = {
        key: router[f"redis_{key}"] for key in ("url", "host", "port", "password", "db") if router.get(f"redis_{key}")
    }
    if unusable := _unusable(config, ("router_settings",), "redis_", params, environment):
        findings += unusable
    elif "url" in params or {"host", "port"} <= params.keys():
        target = _redis_target("router_settings", config.where("router_settings"), params, environment, later)
        targets += [target] if target else []
    elif params.keys() & {"host", "port"}:
        findings.append(
            warning(
                "redis",
                "the router ignores `redis_host` without `redis_port`, and the other way round",
                config.where("router_settings", f"redis_{next(iter(params))}"),
                hint="Name both.",
            )
        )
    if not any(target.name != "router_settings" for target in targets):
        target = _redis_target("REDIS_* variables", "environment", {}, environment, later, required=False)
        targets += [target] if target else []
    return targets, findings


def database_url(config: ProxyConfig, environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the URL of the proxy's database, or `None`, and its source. The configuration precedes variables."""
    written = config.section("general_settings").get("database_url")
    value = resolve_value(written, environment)
    if isinstance(value, str) and value:
        name = reference(written)
        where = config.where("general_settings", "database_url")
        return value, f"{name}, {where}" if name else where
    if environment.get("DATABASE_URL"):
        return environment["DATABASE_URL"], "DATABASE_URL"
    host, user, name = (environment.get(f"DATABASE_{part}") for part in ("HOST", "USERNAME", "NAME"))
    if host and user and name:
        password = environment.get("DATABASE_PASSWORD")
        login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{login}@{host}/{quote(name, safe='')}", "DATABASE_HOST"
    return None, config.path.name


def unusable_database(config: ProxyConfig) -> list[Finding]:
    """Report a `database_url` that is not text."""
    written = config.section("general_settings").get("database_url")
    if not written or isinstance(written, str):
        return []
    where = config.where("general_settings", "database_url")
    what = "`database_url` is not text: the proxy would not start"
    return [error("database", what, where, hint="Write a postgresql:// address.")]


def _unusable(
    config: ProxyConfig, path: tuple[str, ...], prefix: str, params: Mapping[str, Any], environment: Mapping[str, str]
) -> list[Finding]:
    """Report values of the wrong type."""
    findings = []
    for key in ("url", "host", "port", "db"):
        value = resolve_value(params.get(key), environment)
        if value is None or value == "":
            continue
        if key in {"url", "host"}:
            fits, kind = isinstance(value, str), "text"
        else:
            fits, kind = _is_number(value), "a number"
        if not fits:
            where = config.where(*path, f"{prefix}{key}")
            what = f"`{prefix}{key}` of `{path[-1]}` is not {kind}"
            findings.append(error("redis", what, where, hint=f"Write {kind}, or remove it."))
    return findings


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().isascii() and value.strip().isdigit()
    return isinstance(value, int) and not isinstance(value, bool)


def _own_variables(config: ProxyConfig) -> dict[str, str]:
    return {
        str(name): str(value)
        for name, value in config.section("environment_variables").items()
        if value is not None and reference(value) is None
    }


def _redis_blocks(config: ProxyConfig, findings: list[Finding]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the blocks that describe a Redis: section, key, parameters."""
    blocks: list[tuple[str, str, Mapping[str, Any]]] = []
    coordination = config.section("general_settings").get("coordination_redis")
    if isinstance(coordination, Mapping):
        blocks.append(("general_settings", "coordination_redis", coordination))
    settings = config.section("litellm_settings")
    params = settings.get("cache_params")
    params = params if isinstance(params, Mapping) else {}
    if settings.get("cache") is True:
        if params.get("type", "redis") in ("redis", "redis-semantic"):
            blocks.append(("litellm_settings", "cache_params" if params else "cache", params))
    elif params:
        findings.append(
            warning(
                "redis",
                "`cache_params` has no effect without `cache: true`",
                config.where("litellm_settings", "cache_params"),
                hint="Add `cache: true`, or remove it.",
            )
        )
    return blocks


def _redis_target(
    name: str,
    where: str,
    params: Mapping[str, Any],
    environment: Mapping[str, str],
    later: Mapping[str, str],
    *,
    required: bool = True,
) -> RedisTarget | None:
    """Return the server that LiteLLM would use: `params` precede REDIS_* variables, and a host precedes REDIS_URL."""
    own = {key: resolve_value(value, environment) for key, value in params.items()}
    own = {key: value for key, value in own.items() if value not in (None, "")}
    inherited = {key: later[f"REDIS_{key.upper()}"] for key in REDIS_FIELDS if later.get(f"REDIS_{key.upper()}")}
    if "url" not in own and own.keys() & {"host", "startup_nodes", "sentinel_nodes"}:
        inherited.pop("url", None)
    options: dict[str, Any] = {**inherited, **{key: own[key] for key in REDIS_FIELDS if key in own}}
    port_only = any(own.get(key) or later.get(f"REDIS_{key.upper()}") for key in BORROWED_CREDENTIALS)
    first = _first_node(own.get("startup_nodes") or later.get("REDIS_CLUSTER_NODES"))
    sentinel = _first_node(own.get("sentinel_nodes") or later.get("REDIS_SENTINEL_NODES"))
    node = first or sentinel
    if node:
        options = {key: value for key, value in options.items() if key in {"username", "password", "ssl"}}
        options |= {"host": node[0], "port": node[1]}
        port_only = port_only or first is None
    if options.get("url"):
        options = {"url": options["url"]}
    elif not options.get("host"):
        return None
    return RedisTarget(name, where, options, port_only=port_only, required=required)


def _first_node(nodes: object) -> tuple[str, int] | None:
    """Return host and port of the first node of a cluster, or `None`; `nodes` may be JSON or a list."""
    if isinstance(nodes, str):
        try:
            nodes = json.loads(nodes)
        except (ValueError, RecursionError):
            return None
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    if isinstance(first, Mapping):
        first = [first.get("host"), first.get("port", REDIS_PORT)]
    try:
        return (str(first[0]), int(first[1])) if first and first[0] else None
    except (IndexError, TypeError, ValueError, OverflowError):
        return None
