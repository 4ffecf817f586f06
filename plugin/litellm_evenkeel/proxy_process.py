"""The LiteLLM proxy that runs in this process: its server module, configuration, shutdown and number of workers.

The server module is looked up in `sys.modules` and never imported, because outside of a proxy process there is none.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SERVER = "litellm.proxy.proxy_server"
CALLBACK_LISTS = ("callbacks", "success_callback", "failure_callback")
# The function in LiteLLM's server module that it awaits at shutdown.
SHUTDOWN_HANDLER = "proxy_shutdown_event"
# The environment variable that LiteLLM's command sets. Other ways to start workers do not set it.
WORKERS_VARIABLE = "NUM_WORKERS"
MAX_WORKER_DIGITS = 4
# Read by the Prometheus client, which also accepts its lower-case form.
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def server() -> Any:
    """Return LiteLLM's server module, or `None` outside of a proxy."""
    return sys.modules.get(SERVER)


def config() -> Mapping[str, Any]:
    """Return the proxy's YAML as LiteLLM has read it, or an empty mapping without a proxy."""
    read = getattr(getattr(server(), "proxy_config", None), "config", None)
    return read if isinstance(read, Mapping) else {}


def config_path() -> str | None:
    """Return the path of the proxy's YAML, or `None` without one."""
    path = getattr(server(), "user_config_file_path", None)
    return path if isinstance(path, str) and path else None


def callbacks() -> list[str]:
    """Return the names in all callback lists of the configuration. A list may also be a single name."""
    settings = config().get("litellm_settings")
    lists = [settings.get(name) for name in CALLBACK_LISTS] if isinstance(settings, Mapping) else []
    return [name for names in lists for name in ([names] if isinstance(names, str) else names or ())]


def on_shutdown(
    *, before: Callable[[], Awaitable[None]] | None = None, after: Callable[[], None] | None = None
) -> bool:
    """Run functions before and after LiteLLM's shutdown handler. Return `False` if there is no such handler.

    LiteLLM awaits the handler when a worker has served its last request. Soon after, uvicorn ends the worker by a
    signal, before exit functions run. `before` must not raise, as LiteLLM's own shutdown would not run then.
    """
    module = server()
    handler = getattr(module, SHUTDOWN_HANDLER, None)
    if not asyncio.iscoroutinefunction(handler):
        return False

    @functools.wraps(handler)
    async def shutdown(*arguments: Any, **keywords: Any) -> Any:
        if before is not None:
            await before()
        try:
            return await handler(*arguments, **keywords)
        finally:
            if after is not None:
                after()

    setattr(module, SHUTDOWN_HANDLER, shutdown)
    return True


def is_shutting_down() -> bool:
    """Return whether uvicorn ends, and so waits for all responses in flight, endless ones included.

    It ends after a signal, or, with a maximum number of requests, by closing its sockets.
    """
    uvicorn = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    sockets = getattr(uvicorn, "servers", ())
    return bool(getattr(uvicorn, "should_exit", False)) or not all(each.is_serving() for each in sockets)


def worker_count(environ: Mapping[str, str]) -> int | None:
    """Return the number of workers, or `None` if it is unknown."""
    digits = _worker_digits(environ)
    return int(digits) if 0 < len(digits) <= MAX_WORKER_DIGITS else None


def has_several_workers(environ: Mapping[str, str]) -> bool:
    """Return whether the proxy has more than one worker, as far as is known."""
    # The first digits decide. More of them could be too many for `int`.
    return int(_worker_digits(environ)[:MAX_WORKER_DIGITS] or 0) > 1


def _worker_digits(environ: Mapping[str, str]) -> str:
    value = environ.get(WORKERS_VARIABLE, "")
    return value if value.isdecimal() and value.isascii() else ""


def multiprocess_folder(environ: Mapping[str, str]) -> str | None:
    """Return the folder in which processes share the metrics of one scrape, or `None` if each has its own metrics."""
    return environ.get(MULTIPROCESS_VARIABLE) or environ.get(MULTIPROCESS_VARIABLE.lower()) or None
