"""Names of functions in a profile: the path from its package's folder, then the name.

They contain no path of a machine. Profiles of two machines can be compared, and committed.
"""

from __future__ import annotations

import re
import sys
from pathlib import PurePath

ROOTS = (
    r".*/(?:site|dist)-packages/",
    r".*/(?=(?:litellm_evenkeel|evenkeel_lab|evenkeel_load|evenkeel_mock)/)",
    r".*/lib/python\d[\d.]*/(?:lib-dynload/)?",
)
FRAME = re.compile(r"(?P<name>\S+) \((?P<path>.*)\)")

OTHER, UNSEEN = "(other)", "(unseen)"
"""Functions that are too small to be listed; CPU time that is in no sample."""

# Functions that start a program or a thread and then only wait. Stacks begin after them.
LAUNCHERS = (
    "<",
    "asyncio/base_events.py",
    "asyncio/events.py",
    "asyncio/runners.py",
    "click/",
    "concurrent/futures/thread.py",
    "evenkeel_lab/profiling/call_loop.py",
    "litellm/proxy/proxy_cli.py",
    "multiprocessing/",
    "runpy.py",
    "threading.py",
    "uvicorn/_compat.py",
    "uvicorn/_subprocess.py",
    "uvicorn/main.py",
    "uvicorn/server.py",
    "uvloop/",
)

WAITING = ("concurrent/futures/thread.py:_worker", "threading.py:")

GROUPS = {
    "LiteLLM": ("litellm", "litellm_proxy_extras", "litellm_enterprise"),
    "Prometheus": ("prometheus_client", "litellm/integrations/prometheus", "litellm/integrations/prometheus_helpers"),
    "evenkeel": ("litellm_evenkeel", "evenkeel_lab", "evenkeel_load", "evenkeel_mock"),
    "web server": ("fastapi", "starlette", "uvicorn", "uvloop", "h11", "httptools"),
    "calls to providers": ("openai", "httpx", "httpcore", "aiohttp", "aiohappyeyeballs", "anyio", "yarl", "multidict"),
    "database, cache": ("prisma", "redis", "asyncpg"),
    "data": ("pydantic", "pydantic_core", "json", "orjson", "jsonschema", "tokenizers", "tiktoken"),
    "standard library": (),
    OTHER: (),
}
"""Groups of code with the beginnings of their paths. The longest beginning decides."""


def named(frame: str) -> str:
    """Return the name of a frame that a sampler writes as `function (path of its file)`."""
    match = FRAME.fullmatch(frame)
    return f"{path_in_package(match['path'])}:{match['name']}" if match else path_in_package(frame)


def path_in_package(path: str) -> str:
    """Return the path of a file, relative to the folder that contains its package."""
    if path.startswith("<"):
        return path
    begin = next((match.end() for root in ROOTS if (match := re.match(root, path))), None)
    if begin is not None:
        return path[begin:]
    return PurePath(path).name if path.startswith("/") else path


def function_of(name: str) -> str:
    """Return the name of the function without its module."""
    return name.rpartition(":")[2] or name


def launches(name: str) -> bool:
    """Whether a function only starts a program or a thread."""
    return function_of(name) == "<module>" or name.startswith(LAUNCHERS)


def waits(name: str) -> bool:
    """Whether a thread with this innermost function waits for work."""
    return name.startswith(WAITING)


def group(name: str) -> str:
    """Return the group of code that a function belongs to."""
    where = name.rpartition(":")[0]
    longest, length = OTHER, 0
    for candidate, beginnings in GROUPS.items():
        for beginning in beginnings:
            if length < len(beginning) and re.match(rf"{re.escape(beginning)}(?:[/.]|$)", where):
                longest, length = candidate, len(beginning)
    package = re.split(r"[/.]", where, maxsplit=1)[0]
    if not length and (package in sys.stdlib_module_names or where.startswith("<frozen")):
        return "standard library"
    return longest
