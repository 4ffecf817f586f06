"""Checks that this machine has what the lab needs."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uv

from evenkeel_lab.doctor import reachability
from evenkeel_lab.doctor.finding import Finding, error, ok, warning
from evenkeel_lab.doctor.stores import POSTGRES_PORT, REDIS_PORT, host_and_port, printable_address
from evenkeel_lab.errors import LabError
from evenkeel_lab.stack import folders, ports
from evenkeel_lab.stack.servers import postgres, valkey
from litellm_evenkeel import Verdict, judge
from litellm_evenkeel.compatibility import NEWEST_TESTED, breakage, release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
OLDEST_NODE = 18
VERSION_SECONDS = 5.0
REGISTRY_SECONDS = 10.0
# Small packages that a stack needs, so that mirrors have them.
PYPI_PACKAGE, NPM_PACKAGE = "click", "pg"
# The path of a Unix socket may have 107 bytes on Linux, 103 on macOS. SOCKET_TAIL is appended to the folder.
SOCKET_LIMIT = 103
SOCKET_TAIL = "/evenkeel-12345678/postgres/.s.PGSQL.32000"
NETWORK_HINT = "Set HTTPS_PROXY and NO_PROXY, or point the client to your mirror. What is cached still works."
CERTIFICATE_HINT = "Name your own certificates in {variable}. What is cached still works."


async def check_machine(environment: Mapping[str, str]) -> list[Finding]:
    """Check the machine. The order of findings is fixed."""
    groups = await asyncio.gather(
        _now(python_version),
        _now(litellm_version),
        uv_binary(environment),
        node(environment),
        npm(environment),
        server_binary("postgres", postgres_program, environment, "DATABASE_URL"),
        server_binary("valkey", valkey.binary, environment, "REDIS_URL"),
        _now(temporary_folder),
        _now(cache_room),
        _now(loopback_ports),
        pypi(environment),
        npm_registry(environment),
        own_server("DATABASE_URL", environment, "Postgres", POSTGRES_PORT),
        own_server("REDIS_URL", environment, "Valkey", REDIS_PORT),
    )
    return list(groups)


async def _now(check: Callable[[], Finding]) -> Finding:
    return check()


def python_version(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    """Check that the lab supports this Python."""
    if OLDEST_PYTHON <= version <= NEWEST_PYTHON:
        return ok("python", platform.python_version())
    return error(
        "python",
        f"{'.'.join(map(str, version))} is not one of 3.11 to 3.13",
        sys.executable,
        hint="Install litellm-evenkeel into another Python.",
    )


def litellm_version(version: str | None = None) -> Finding:
    """Check the LiteLLM in the lab's environment. The proxy may use another one."""
    where = "this environment"
    try:
        version = version or importlib.metadata.version("litellm")
        verdict = judge(version)
    except importlib.metadata.PackageNotFoundError:
        return ok("litellm", "not installed, so its version is not checked", where)
    except ValueError:
        return warning("litellm", "its version cannot be read", where, hint="Install a release of LiteLLM.")
    return _judged(version, verdict, where)


def _judged(version: str, verdict: Verdict, where: str) -> Finding:
    """Return whether the plugin supports a LiteLLM version."""
    broken = breakage(version)
    if verdict is Verdict.COMPROMISED:
        hint = "Remove it, rotate every credential it saw, and install another version."
        return error("litellm", f"{version} is a compromised release", where, hint=hint)
    if verdict is Verdict.TOO_OLD:
        return error("litellm", f"{version} is too old for the plugin", where, hint="Install LiteLLM 1.100.0 or newer.")
    if broken is not None:
        hint = f"Install LiteLLM {broken.until} or newer, or one before {broken.since}."
        return error("litellm", f"{version} does not work with the plugin: {broken.reason}", where, hint=hint)
    if release(version) > release(NEWEST_TESTED):
        hint = f"See whether there is a newer litellm-evenkeel, and what evenkeel compat {version} says."
        return warning("litellm", f"{version} is newer than any tested with the plugin", where, hint=hint)
    return ok("litellm", f"{version} works with the plugin", where)


async def uv_binary(environment: Mapping[str, str]) -> Finding:
    """Check uv, which installs the environments of proxies."""
    try:
        path = uv.find_uv_bin()
    except FileNotFoundError:
        return error("uv", "its program is missing", hint="pip install --force-reinstall uv")
    return await _program("uv", [path, "--version"], environment) or error(
        "uv", "it does not run", path, hint="pip install --force-reinstall uv"
    )


async def node(environment: Mapping[str, str]) -> Finding:
    """Check Node, which runs the stand-in for Prisma's engine."""
    instead = "one from PyPI is fetched into the cache when it is needed"
    path = shutil.which("node", path=environment.get("PATH"))
    if path is None:
        return ok("node", f"not on PATH: {instead}")
    finding = await _program("node", [path, "--version"], environment)
    if finding is None:
        # A version manager's shim does this if no version is selected.
        return ok("node", f"it gives no version: {instead}", path)
    if not _new_enough(finding):
        return ok("node", f"{finding.what} is older than {OLDEST_NODE}: {instead}", path)
    return finding


async def npm(environment: Mapping[str, str]) -> Finding:
    """Check npm, which installs the stand-in for Prisma's engine."""
    path = shutil.which("npm", path=environment.get("PATH"))
    if path is None:
        return ok("npm", "not on PATH: it comes with the node from PyPI")
    finding = await _program("npm", [path, "--version"], environment)
    if finding:
        return finding
    if _new_enough(await node(environment)):
        return warning("npm", "it does not run", path, hint="Repair it, or remove node and npm from PATH.")
    return ok("npm", "it gives no version, and comes with the node from PyPI", path)


def _new_enough(finding: Finding) -> bool:
    """Whether a finding reports a Node version that the lab supports."""
    number = re.match(r"\d+", finding.what)
    return number is not None and int(number.group()) >= OLDEST_NODE


def postgres_program() -> Path:
    """Return the program of the embedded Postgres."""
    return postgres.binaries() / "postgres"


async def server_binary(check: str, find: Callable[[], Path], environment: Mapping[str, str], variable: str) -> Finding:
    """Check that an embedded server is installed and runs on this machine."""
    hint = f"pip install 'litellm-evenkeel[lab]', or set {variable} to a server of your own."
    try:
        path = find()
    except (LabError, IndexError):
        what = "the embedded one is not installed"
    else:
        finding = await _program(check, [str(path), "--version"], environment)
        if finding:
            return ok(check, f"{finding.what}, embedded")
        what = "the embedded one does not run on this machine"
    if environment.get(variable):
        return ok(check, f"{what}, and {variable} names one instead")
    return error(check, what, hint=hint)


def temporary_folder() -> Finding:
    """Check the folder of stacks: free space, permissions, and the length of its path."""
    check = "temp folder"
    uid = folders.server_uid()
    preferred = Path(tempfile.gettempdir()).resolve()
    try:
        folder = folders.temporary_parent(uid)
        folders.require_room(folder, folders.STACK_MIB)
    except LabError as trouble:
        return error(check, trouble.what.rstrip("."), hint=trouble.hint)
    if len(f"{folder}{SOCKET_TAIL}".encode()) > SOCKET_LIMIT:
        return error(
            check, "its path is too long for Postgres' socket", str(folder), hint="Set TMPDIR to a shorter one."
        )
    try:
        must_run_there = not folders.traversable(postgres.binaries(), uid)
    except (LabError, IndexError):
        must_run_there = False
    if must_run_there and _without_execution(folder):
        return error(
            check,
            "no program may run there, and Postgres has to: other users may not enter the folder of its programs",
            str(folder),
            hint="Set TMPDIR to a folder that is not mounted noexec.",
        )
    if folder != preferred:
        return warning(
            check,
            f"it is closed to the user that servers run as{'' if uid is None else f' ({uid})'}, so {folder} is used",
            str(preferred),
            hint="Let everybody enter it, or set TMPDIR to another one.",
        )
    return ok(check, f"{_room(folder)} free", str(folder))


def cache_room() -> Finding:
    """Check the cache folder or, if it does not exist, the folder in which it would be created."""
    check = "cache folder"
    folder = folders.cache_path()
    existing = _nearest_existing(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        what = "nothing can be written there" if existing == folder.absolute() else f"it cannot be made in {existing}"
        return error(check, what, str(folder), hint="Set EVENKEEL_CACHE to a folder that you may write to.")
    if _without_execution(existing):
        return error(
            check,
            "no program may run there",
            str(folder),
            hint="Set EVENKEEL_CACHE to a folder that is not mounted noexec.",
        )
    try:
        folders.require_room(existing, folders.ENVIRONMENT_MIB)
    except LabError:
        return warning(
            check,
            f"{_room(existing)} free, a new proxy environment needs {folders.ENVIRONMENT_MIB / 1000:.1f} GB",
            str(folder),
            hint="Free some, or set EVENKEEL_CACHE. What is cached still works.",
        )
    return ok(check, f"{_room(existing)} free", str(folder))


def loopback_ports() -> Finding:
    """Check that servers can listen on loopback."""
    where = f"{ports.LOOPBACK}:{ports.LOWEST}-{ports.HIGHEST}"
    try:
        ports.free_port()
    except LabError as trouble:
        return error("ports", "none can be listened on", where, hint=trouble.hint)
    return ok("ports", "can be listened on", where)


async def pypi(environment: Mapping[str, str]) -> Finding:
    """Check that uv reaches its index, by resolving one small package without the cache."""
    try:
        argv = [uv.find_uv_bin(), "pip", "compile", "-", "--no-cache", "--no-header", "--no-deps"]
    except FileNotFoundError:
        return warning("pypi", "not checked without uv", hint="pip install --force-reinstall uv")
    argv += ["--python", sys.executable]
    code, output = await reachability.run_program(argv, environment, REGISTRY_SECONDS, text=PYPI_PACKAGE)
    return _registry("pypi", "uv", code, output, "SSL_CERT_FILE")


async def npm_registry(environment: Mapping[str, str]) -> Finding:
    """Check that npm reaches its registry, by looking up one package."""
    path = shutil.which("npm", path=environment.get("PATH"))
    if path is None:
        return ok("npm registry", "not checked without npm")
    argv = [path, "view", NPM_PACKAGE, "version", "--fetch-retries=0", "--logs-max=0", "--no-update-notifier"]
    # An empty cache: npm uses the user's cache if it cannot reach the registry.
    with tempfile.TemporaryDirectory(prefix="evenkeel-npm-", ignore_cleanup_errors=True) as cache:
        try:
            code, output = await reachability.run_program([*argv, f"--cache={cache}"], environment, REGISTRY_SECONDS)
        except OSError:
            code, output = 1, ""
    if code and not await _program("npm", [path, "--version"], environment):
        return ok("npm registry", "not checked, because npm gives no version")
    return _registry("npm registry", "npm", code, output, "NODE_EXTRA_CA_CERTS")


async def own_server(variable: str, environment: Mapping[str, str], kind: str, default_port: int) -> Finding:
    """Check the port of the user's own server, if `variable` names one."""
    url = environment.get(variable)
    if not url:
        return ok(variable, f"not set: the embedded {kind} is used")
    address = host_and_port(url, default_port)
    hint = f"Start it, mend {variable}, or unset it to get an embedded {kind}."
    if address is None:
        if url.startswith("unix:") or "?host=" in url or "&host=" in url:
            return ok(variable, f"set: your own {kind}, on a Unix socket, not checked")
        return error(
            variable, "set, but not an address", hint=f"Mend it: escape what is special in its password. {hint}"
        )
    trouble = await reachability.port_problem(*address)
    if trouble:
        return error(variable, f"set, but {trouble}", printable_address(url, default_port), hint=hint)
    return ok(variable, f"set: the port of your own {kind} answers", printable_address(url, default_port))


async def _program(check: str, argv: list[str], environment: Mapping[str, str]) -> Finding | None:
    """Return a finding with the version that a program prints, or `None` if it does not run."""
    try:
        code, output = await reachability.run_program(argv, environment, VERSION_SECONDS)
    except OSError:
        return None
    version = re.search(r"\d+(?:\.\d+)+", output)
    return ok(check, version.group(), argv[0]) if code == 0 and version else None


def _registry(check: str, client: str, code: int | None, output: str, certificates: str) -> Finding:
    """Classify the output of a client. It is not repeated, because it may contain an address with a password."""
    if code == 0:
        return ok(check, f"reached through {client}")
    lowered = output.lower()
    hint = NETWORK_HINT
    if code is None:
        what = f"{client} got no answer within {REGISTRY_SECONDS:.0f} s"
    elif re.search(r"certificate|unknownissuer|self.signed", lowered):
        what, hint = f"{client} does not accept its certificate", CERTIFICATE_HINT.format(variable=certificates)
    elif re.search(r"\b(401|403)\b|unauthorized|forbidden|e401|e403|eneedauth", lowered):
        what, hint = f"{client} is refused", f"Log {client} in to your registry. What is cached still works."
    elif re.search(r"offline|network was disabled|network connectivity is disabled", lowered):
        what, hint = f"{client} is set to stay offline", "Allow it the network, or use what is cached."
    else:
        what = f"{client} cannot reach it"
    return warning(check, what, hint=hint)


def _nearest_existing(folder: Path) -> Path:
    """Return `folder`, or its nearest parent that exists. Dangling links count as existing."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _without_execution(folder: Path) -> bool:
    """Whether the folder is on a disk that is mounted noexec."""
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


def _room(folder: Path) -> str:
    return f"{shutil.disk_usage(folder).free / 10**9:.1f} GB"
