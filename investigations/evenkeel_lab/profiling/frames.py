"""What a function is called in a profile: where it is, seen from its package, and its name there.

No path of a machine is in such a name, so that two machines' profiles can be compared, and be committed.
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
"""What is too small to be told apart; CPU of a process that was in none of its samples."""

# What starts a program or a thread and then only waits: above it, everything is of interest; it itself nothing.
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
"""Whose code a function is, by where it is; the longest beginning decides."""


def named(frame: str) -> str:
    """Return the name of a frame as a sampler writes it: `function (path of its file)`."""
    found = FRAME.fullmatch(frame)
    return f"{place(found['path'])}:{found['name']}" if found else place(frame)


def place(path: str) -> str:
    """Return where a file is, seen from its package's folder."""
    if path.startswith("<"):
        return path
    inside = next((found.end() for root in ROOTS if (found := re.match(root, path))), None)
    if inside is not None:
        return path[inside:]
    return PurePath(path).name if path.startswith("/") else path


def function_of(name: str) -> str:
    """Return the function alone."""
    return name.rpartition(":")[2] or name


def launches(name: str) -> bool:
    """Whether a function only starts what is of interest."""
    return function_of(name) == "<module>" or name.startswith(LAUNCHERS)


def waits(name: str) -> bool:
    """Whether a thread whose innermost function this is waits for work."""
    return name.startswith(WAITING)


def group(name: str) -> str:
    """Return whose code a function is."""
    where = name.rpartition(":")[0]
    found, length = OTHER, 0
    for whose, beginnings in GROUPS.items():
        for beginning in beginnings:
            if length < len(beginning) and re.match(rf"{re.escape(beginning)}(?:[/.]|$)", where):
                found, length = whose, len(beginning)
    package = re.split(r"[/.]", where, maxsplit=1)[0]
    if not length and (package in sys.stdlib_module_names or where.startswith("<frozen")):
        return "standard library"
    return found
