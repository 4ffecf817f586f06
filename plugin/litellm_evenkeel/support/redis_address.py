"""Addresses of Redis or Valkey: one server, the nodes of a cluster, or the Sentinels that watch a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from litellm_evenkeel.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERVER_SCHEMES = ("redis://", "rediss://", "unix://")
CLUSTER_SCHEMES = ("redis+cluster://", "rediss+cluster://")
SENTINEL_SCHEMES = ("redis+sentinel://", "rediss+sentinel://")
REDIS_SCHEMES = (*SERVER_SCHEMES, *CLUSTER_SCHEMES, *SENTINEL_SCHEMES)
REDIS_PORT, SENTINEL_PORT = 6379, 26379
SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")

Node = tuple[str, int]


class Topology(StrEnum):
    """The kind of Redis at an address."""

    SERVER = "server"
    CLUSTER = "cluster"
    SENTINEL = "sentinel"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """An address, parsed."""

    topology: Topology
    url: str = field(default="", repr=False)
    """The address of one server, for its client."""
    nodes: tuple[Node, ...] = ()
    """Nodes of a cluster, or Sentinels. One that answers is enough."""
    service: str = ""
    """The name under which Sentinels know the server."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Connection arguments for servers: credentials, database, TLS."""
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Connection arguments for Sentinels."""


def parse_address(url: str) -> RedisAddress:
    """Parse an address. Raise ValueError if it cannot be parsed.

    The error's text may contain a part of a password, so it must not be shown.
    """
    scheme = url.partition("://")[0].lower()
    if scheme.endswith("+cluster"):
        return _cluster(url)
    if scheme.endswith("+sentinel"):
        return _sentinel(url)
    from redis.asyncio.connection import parse_url  # noqa: PLC0415 - settings are read without this driver

    parse_url(url)
    return RedisAddress(Topology.SERVER, url)


def require_valid_address(url: str, path: str) -> None:
    """Raise SettingsError, with the setting `path`, if an address cannot be parsed. The address is not shown."""
    try:
        parse_address(url)
    except ValueError:
        # Not chained to the original error, whose text may contain a part of the password.
        raise SettingsError(
            f"{path}: expected an address such as redis://:PASSWORD@host:6379/0, got one that cannot be parsed. "
            "Hint: in the password, write %2F for /, %23 for #, %3F for ?, %40 for @. Addresses of clusters and "
            "Sentinels are in docs/rotation.md."
        ) from None


def cluster_url(nodes: Sequence[Node], *, username: str = "", password: str = "", ssl: bool = False) -> str:
    """Return the address of a cluster."""
    return f"{_scheme(ssl)}+cluster://{_credentials(username, password)}{_hosts(nodes)}"


def sentinel_url(
    nodes: Sequence[Node],
    service: str,
    *,
    username: str = "",
    password: str = "",
    db: int = 0,
    ssl: bool = False,
    sentinel_password: str = "",
) -> str:
    """Return the address of a server that Sentinels watch."""
    query = f"?{urlencode({'sentinel_password': sentinel_password})}" if sentinel_password else ""
    location = f"{_credentials(username, password)}{_hosts(nodes)}/{quote(service, safe='')}/{db}"
    return f"{_scheme(ssl)}+sentinel://{location}{query}"


def _cluster(url: str) -> RedisAddress:
    parts = _split(url)
    if parts.path.strip("/") not in {"", "0"} or parts.query:
        raise ValueError(url)
    return RedisAddress(Topology.CLUSTER, nodes=_nodes(parts.netloc, REDIS_PORT), options=_options(url))


def _sentinel(url: str) -> RedisAddress:
    parts = _split(url)
    service, _, db = parts.path.strip("/").partition("/")
    if not service or not (db or "0").isdigit():
        raise ValueError(url)
    options = _options(url)
    own = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    if not own.keys() <= set(SENTINEL_OPTIONS):
        raise ValueError(url)
    sentinel_options: dict[str, Any] = {name.removeprefix("sentinel_"): value for name, value in own.items()}
    if options.get("ssl"):
        sentinel_options["ssl"] = True
    return RedisAddress(
        Topology.SENTINEL,
        nodes=_nodes(parts.netloc, SENTINEL_PORT),
        service=unquote(service),
        options={**options, "db": int(db or 0)},
        sentinel_options=sentinel_options,
    )


def _split(url: str) -> SplitResult:
    """Split an address. Raise ValueError if a character of the password is not encoded."""
    parts = urlsplit(url)
    if parts.fragment or url.count("@") != parts.netloc.count("@") or parts.netloc.count("@") > 1:
        raise ValueError(url)
    return parts


def _nodes(netloc: str, default_port: int) -> tuple[Node, ...]:
    # Each node is read as an address of its own, which also handles IPv6.
    hosts = netloc.rpartition("@")[2].split(",")
    parts = [urlsplit(f"//{host}") for host in hosts]
    if not all(part.hostname and part.port != 0 for part in parts):
        raise ValueError(netloc)
    return tuple((str(part.hostname), part.port or default_port) for part in parts)


def _options(url: str) -> dict[str, Any]:
    scheme, _, rest = url.partition("://")
    user, _, password = rest.split("/")[0].rpartition("@")[0].partition(":")
    named: dict[str, Any] = {"username": unquote(user), "password": unquote(password)}
    options = {name: value for name, value in named.items() if value}
    if scheme.lower().startswith("rediss"):
        options["ssl"] = True
    return options


def _scheme(ssl: bool) -> str:  # noqa: FBT001 - the one parameter
    return "rediss" if ssl else "redis"


def _credentials(username: str, password: str) -> str:
    if not username and not password:
        return ""
    return f"{quote(username, safe='')}:{quote(password, safe='')}@"


def _hosts(nodes: Sequence[Node]) -> str:
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in nodes)
