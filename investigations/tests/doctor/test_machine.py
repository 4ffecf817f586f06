from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uv

from evenkeel_lab.doctor import Level, machine as machine_module, reachability
from evenkeel_lab.doctor.machine import (
    cache_room,
    check_machine,
    litellm_version,
    loopback_ports,
    node,
    npm,
    npm_registry,
    own_server,
    pypi,
    python_version,
    server_binary,
    temporary_folder,
    uv_binary,
)
from evenkeel_lab.doctor.stores import RedisTarget
from evenkeel_lab.errors import MissingTool
from evenkeel_lab.stack import folders, ports
from evenkeel_lab.stack.servers import valkey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make a program that does what a line of shell does."""

    def make(name: str, line: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says a word."""
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, 0))
        return int(server.getsockname()[1])


def on_path(program: Path) -> dict[str, str]:
    return {"PATH": str(program.parent)}


@pytest.mark.parametrize(
    ("version", "level"), [((3, 10), "error"), ((3, 11), "ok"), ((3, 13), "ok"), ((3, 14), "error")]
)
def test_unsupported_python_versions_are_errors(version: tuple[int, int], level: str) -> None:
    assert python_version(version).level == level


@pytest.mark.parametrize(
    ("version", "level"),
    [("1.106.2", "ok"), ("99.0.0", "warning"), ("1.99.0", "error"), ("1.82.7", "error"), ("unknown", "warning")],
)
def test_unsupported_litellm_versions_are_reported(version: str, level: str) -> None:
    finding = litellm_version(version)
    assert finding.level == level
    assert finding.where == "this environment"


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("echo v20.1.0", "ok", "20.1.0"),
        ("echo v16.2.0", "ok", "older than 18"),
        ("exit 1", "ok", "from PyPI"),
        ("echo 20", "ok", "from PyPI"),
    ],
)
async def test_the_version_of_node_is_checked(program: Program, line: str, level: str, words: str) -> None:
    finding = await node(on_path(program("node", line)))
    assert finding.level == level
    assert words in finding.what


async def test_node_and_npm_may_be_missing(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path)}
    for check in (node, npm, npm_registry):
        finding = await check(environment)
        assert finding.level is Level.OK, finding
    assert "from PyPI" in (await node(environment)).what


async def test_a_missing_or_broken_uv_is_an_error(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(program("uv", "echo uv 0.13.8")))
    assert (await uv_binary({})).what == "0.13.8"

    def missing() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(uv, "find_uv_bin", missing)
    assert (await uv_binary({})).level is Level.ERROR
    assert (await pypi({})).level is Level.WARNING


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("echo 8.1.0", "ok", "reached"),
        ("echo 'invalid peer certificate: UnknownIssuer at user:hunter2@host'; exit 1", "warning", "certificate"),
        ("echo 'HTTP status 403 for user:hunter2@host' >&2; exit 1", "warning", "refused"),
        ("echo 'network was disabled'; exit 1", "warning", "offline"),
        ("echo 'ECONNREFUSED user:hunter2@host'; exit 1", "warning", "cannot reach"),
        ("sleep 60", "warning", "no answer within"),
    ],
)
async def test_unreachable_registries_are_warnings(
    program: Program, monkeypatch: pytest.MonkeyPatch, line: str, level: str, words: str
) -> None:
    if line.startswith("sleep"):
        monkeypatch.setattr(machine_module, "REGISTRY_SECONDS", 0.3)
    client = program("npm", f'PATH=/usr/bin:/bin; [ "$1" = --version ] && echo 10.0.0 && exit; {line}')
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(client))
    for finding in (await npm_registry(on_path(client)), await pypi({})):
        assert finding.level == level
        assert words in finding.what
        assert "hunter2" not in str(finding)


async def test_version_manager_shims_without_a_version_are_ok(program: Program) -> None:
    line = "echo 'No version is set for command' >&2; exit 126"
    path = on_path(program("npm", line))
    program("node", line)
    assert [(await check(path)).level for check in (node, npm, npm_registry)] == [Level.OK] * 3
    program("node", "echo v20.1.0")
    assert (await npm(path)).level is Level.WARNING
    program("node", "echo v16.1.0")
    assert (await npm(path)).level is Level.OK


async def test_child_processes_of_a_client_end_with_it(program: Program, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    path = program("uv", f"PATH=/usr/bin:/bin; sleep 60 & echo $! > {pid}; wait")
    code, _ = await reachability.run_program([str(path)], {}, 1)
    assert code is None
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    if sys.platform == "linux":
        await asyncio.sleep(0.1)
        assert not state.exists() or state.read_text().split()[2] == "Z"


async def test_missing_or_broken_embedded_servers_are_errors(program: Program) -> None:
    path = program("postgres", "echo 'postgres (PostgreSQL) 18.4'")
    assert (await server_binary("postgres", lambda: path, {}, "DATABASE_URL")).what == "18.4, embedded"
    broken = program("valkey-server", "exit 126")
    assert (await server_binary("valkey", lambda: broken, {}, "REDIS_URL")).level is Level.ERROR

    def missing() -> Path:
        raise MissingTool("none", hint="none")

    assert (await server_binary("valkey", missing, {}, "REDIS_URL")).level is Level.ERROR
    assert (await server_binary("valkey", missing, {"REDIS_URL": "redis://x"}, "REDIS_URL")).level is Level.OK


def test_an_unusable_temporary_folder_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert temporary_folder().level is Level.OK
    monkeypatch.setattr(folders, "STACK_MIB", 10**9)
    assert temporary_folder().level is Level.ERROR
    monkeypatch.undo()
    deep = tmp_path / ("x" * 90)
    monkeypatch.setattr(folders, "temporary_parent", lambda _uid: deep)
    deep.mkdir()
    assert "too long" in temporary_folder().what


def test_a_temporary_folder_that_servers_cannot_enter_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    monkeypatch.setattr(folders, "server_uid", lambda: folders.NOBODY)
    finding = temporary_folder()
    assert finding.level is Level.WARNING
    assert finding.where == str(closed)


def test_the_checked_cache_folder_is_the_one_that_the_lab_creates(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_room().level is Level.OK
    assert not own_cache.exists()
    assert cache_room().where == str(folders.cache_folder())
    monkeypatch.delenv("EVENKEEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache))
    monkeypatch.setenv("HOME", str(own_cache))  # where macOS has it
    where = cache_room().where
    assert not Path(where).exists()
    assert where == str(folders.cache_folder())


def test_an_unusable_cache_folder_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "some" / "where"))
    assert cache_room().level is Level.OK
    assert not (tmp_path / "some").exists()
    monkeypatch.setattr(folders, "ENVIRONMENT_MIB", 10**9)
    assert cache_room().level is Level.WARNING
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for unusable in ("file", "file/below", "link", "link/below"):
        monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / unusable))
        finding = cache_room()
        assert finding.level is Level.ERROR
        assert finding.where == str(tmp_path / unusable)


def test_ports_that_cannot_be_listened_on_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loopback_ports().level is Level.OK
    monkeypatch.setattr(ports, "is_free", lambda _port: False)
    assert loopback_ports().level is Level.ERROR


async def test_servers_of_the_users_own_are_checked(silent_port: int, closed_port: int) -> None:
    async def about(url: str | None) -> tuple[str, str]:
        finding = await own_server("DATABASE_URL", {"DATABASE_URL": url} if url else {}, "Postgres", 5432)
        assert "hunter2" not in str(finding)
        return finding.level, finding.what

    assert await about(None) == ("ok", "not set: the embedded Postgres is used")
    assert (await about(f"postgresql://u:hunter2@127.0.0.1:{silent_port}/db"))[0] == "ok"
    assert await about(f"postgresql://u:hunter2@127.0.0.1:{closed_port}/db") == (
        "error",
        "set, but the connection is refused",
    )
    assert (await about("postgresql:///db?host=/run/postgresql"))[0] == "ok"
    assert (await about("postgresql://u:a/hunter2@host/db"))[0] == "error"
    assert (await about("hunter2"))[0] == "error"


async def test_silent_and_absent_servers_have_a_reason(
    silent_port: int, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "REDIS_SECONDS", 0.2)
    monkeypatch.setattr(reachability, "DATABASE_SECONDS", 0.2)
    for port, words in ((silent_port, "it does not answer in time"), (closed_port, "the connection is refused")):
        target = RedisTarget("a", "b", {"url": f"redis://:hunter2@127.0.0.1:{port}"})
        assert await reachability.redis_problem(target) == words
        target = RedisTarget("a", "b", {"host": "127.0.0.1", "port": str(port), "password": "hunter2", "ssl": "false"})
        assert await reachability.redis_problem(target) == words
        assert (
            await reachability.database_problem(f"postgresql://u:hunter2@127.0.0.1:{port}/db?connection_limit=9")
            == words
        )


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (b"+OK\r\n", None),
        (b"-WRONGPASS invalid username-password pair\r\n", "it refuses the password, or wants one"),
        (b"-NOAUTH Authentication required.\r\n", "it refuses the password, or wants one"),
        (b"-ERR unknown command\r\n", "it refuses PING"),
    ],
)
async def test_error_answers_of_redis_have_a_reason(answer: bytes, trouble: str | None) -> None:
    heard: list[list[bytes]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Exactly one answer to each command, however they are spread over reads: redis-py holds a connection for
        # broken on which more arrives than it asked for.
        while size := await reader.readline():
            words = [await reader.readexactly(int((await reader.readline())[1:]) + 2) for _ in range(int(size[1:]))]
            heard.append([word[:-2] for word in words])
            writer.write(b"+PONG\r\n" if heard[-1] == [b"PING"] and trouble is None else answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, ports.LOOPBACK, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        target = RedisTarget("a", "b", {"host": ports.LOOPBACK, "port": port, "password": "hunter2"})
        assert await reachability.redis_problem(target) == trouble
    assert heard[0] == [b"AUTH", b"hunter2"]
    assert trouble or heard[-1] == [b"PING"]


async def test_a_real_valkey_answers_with_its_password_only(tmp_path: Path) -> None:
    async with valkey.valkey(tmp_path, tmp_path) as server:
        target = RedisTarget("a", "b", {"url": server.url})
        assert [await reachability.redis_problem(target) for _ in range(3)] == [None] * 3
        target = RedisTarget("a", "b", {"url": server.url.replace("//:", "//:not-")})
        assert await reachability.redis_problem(target) == "it refuses the password, or wants one"
        target = RedisTarget("a", "b", {"url": server.url.replace("/0", "/9999")})
        assert await reachability.redis_problem(target) == "it refuses PING"


@pytest.mark.parametrize("url", ["mysql://h/d", "postgresql://u:a/b@h/d", "postgresql://h:port/d", "nonsense"])
async def test_malformed_addresses_have_a_reason(url: str) -> None:
    assert await reachability.database_problem(url) is not None


def test_a_stuck_name_lookup_does_not_delay_the_exit() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(reachability.DaemonThreads())
        assert await loop.run_in_executor(None, lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, lambda: 1 // 0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.run_in_executor(None, time.sleep, 2), 0.05)

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start < 1


async def test_all_checks_run_in_a_fixed_order(
    program: Program, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = program("npm", "echo 10.0.0")
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(client))
    findings = await check_machine(on_path(client))
    assert [finding.check for finding in findings] == [
        "python",
        "litellm",
        "uv",
        "node",
        "npm",
        "postgres",
        "valkey",
        "temp folder",
        "cache folder",
        "ports",
        "pypi",
        "npm registry",
        "DATABASE_URL",
        "REDIS_URL",
    ]
    assert all(finding.hint for finding in findings if finding.level is not Level.OK)
