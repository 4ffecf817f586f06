"""Replay recorded events to a callback, in a process that has LiteLLM: `python replay.py JOB`.

JOB is a JSON file: `arm` names the callback (`stock`, `noop`, `evenkeel`, or `module:attribute`), `settings` are
LiteLLM's own, `events` is a file that `events.pack_events` wrote. `bare` replaces LiteLLM's proxy by a stub, which
saves half a minute of imports. `models` maps the models of the proxy's router to a limit of requests or null.
`several_workers` makes this process one of several workers. Each line of stdin names a method of `Replay`; the reply is
one line of JSON. This program imports nothing of the lab, so that it runs with any version of LiteLLM.

Events are fed as LiteLLM feeds them: one coroutine after another is awaited, and the event loop runs in between;
exceptions of a callback are caught and counted. There is no database and no Redis. The event `pass_time` moves the
clock without waiting, with a scrape before and after it. Events are built before anything is measured, and share parts.

CPU is the CPU time of the process, with the flush and one scrape; `noop` measures the event loop's own. Allocation is
counted by memray, which hooks Python's allocators: the number and the size of all requested blocks, however soon they
are freed. Objects from a free list (a small tuple, a float) request no block, so they do not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import importlib.util
import inspect
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    HookCall = tuple[str, tuple[Any, ...]]

# Without this, LiteLLM downloads a price list.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

PROXY_SERVER: Final = "litellm.proxy.proxy_server"
MULTIPROCESS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
AUTH_MODULE: Final = "litellm.proxy.auth.user_api_key_auth"
PARAMETERS: Final[Mapping[str, Sequence[str]]] = {
    "async_log_success_event": ("kwargs", "response_obj", "start_time", "end_time"),
    "async_log_failure_event": ("kwargs", "response_obj", "start_time", "end_time"),
    "async_post_call_failure_hook": ("request_data", "original_exception", "user_api_key_dict", "traceback_str"),
    "log_success_fallback_event": ("original_model_group", "kwargs", "original_exception"),
    "log_failure_fallback_event": ("original_model_group", "kwargs", "original_exception"),
    "pass_time": ("seconds",),
}
TIME: Final = "pass_time"
PAUSE_SECONDS: Final = 0.004
COUNTED_FAILURES: Final = ("async_log_success_event", "async_log_failure_event")
"""The hooks whose failures LiteLLM counts."""


class ProxyStub(ModuleType):
    """Stub of the proxy's module, without any connection."""

    def __init__(self) -> None:
        super().__init__(PROXY_SERVER)
        caching = importlib.import_module("litellm.caching.caching")
        self.user_api_key_cache = caching.DualCache()
        self.general_settings: dict[str, Any] = {}
        self.app = importlib.import_module("fastapi").FastAPI()

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def stub_proxy() -> None:
    """Replace LiteLLM's proxy, and what it imports first, by stubs: only the library may be installed."""
    sys.modules[PROXY_SERVER] = ProxyStub()
    guard: Any = ModuleType(AUTH_MODULE)
    guard.user_api_key_auth = lambda: None
    sys.modules[AUTH_MODULE] = guard
    if importlib.util.find_spec("backoff") is None:
        backoff: Any = ModuleType("backoff")
        backoff.on_exception = lambda *_, **__: lambda function: function
        backoff.expo = None
        sys.modules["backoff"] = backoff


def configure_worker(arm: str) -> None:
    """Set the environment of one of several workers. LiteLLM creates stock's folder; our callback creates its own."""
    if arm == "stock":
        os.environ[MULTIPROCESS_FOLDER] = tempfile.mkdtemp(dir=Path.cwd())
    else:
        os.environ |= {"NUM_WORKERS": "2", "TMPDIR": str(Path.cwd())}


def configure_proxy(models: Mapping[str, int | None]) -> None:
    """List our callback in the configuration of the proxy module, and add a router if there are `models`."""
    server: Any = importlib.import_module(PROXY_SERVER)
    server.proxy_config = getattr(server, "proxy_config", None) or SimpleNamespace()
    server.proxy_config.config = {"litellm_settings": {"callbacks": ["litellm_evenkeel.proxy.prometheus"]}}
    # LiteLLM's proxy imports it, and its metrics are part of a scrape.
    with contextlib.suppress(ImportError):
        importlib.import_module("litellm.accounting.metrics")
    if models:
        deployments = [
            {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "none", "rpm": rpm}}
            for name, rpm in models.items()
        ]
        server.llm_router = importlib.import_module("litellm").Router(model_list=deployments)


def fake_clock() -> Callable[[float], None]:
    """Replace the clocks of `time`. Return a function that moves them forward by a number of seconds."""
    skipped: list[float] = []
    real, steady = time.time, time.monotonic
    time.time = lambda: real() + sum(skipped)
    time.monotonic = lambda: steady() + sum(skipped)
    return skipped.append


class CriticalLog(logging.Handler):
    """Keeps critical log messages: the reasons why a callback counts nothing."""

    messages: Final[list[str]] = []

    def emit(self, record: logging.LogRecord) -> None:  # noqa: D102
        if record.levelno >= logging.CRITICAL:
            self.messages.append(record.getMessage())


class Noop:
    """A callback that does nothing."""

    async def nothing(self, *_: object) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        if name not in PARAMETERS:
            raise AttributeError(name)
        return self.nothing


def make_callback(arm: str) -> Any:
    """Return the callback that an arm stands for."""
    module, _, attribute = ARMS.get(arm, arm).partition(":")
    if module == "noop":
        return Noop()
    target = getattr(importlib.import_module(module), attribute)
    return target() if inspect.isclass(target) else target


ARMS: Final[Mapping[str, str]] = {
    "noop": "noop",
    "stock": "litellm.integrations.prometheus:PrometheusLogger",
    "evenkeel": "litellm_evenkeel.proxy:prometheus",
}


# -- rebuilding events -------------------------------------------------------------------------------------------------


def rebuild_exception(recorded: Mapping[str, Any]) -> BaseException:
    """Rebuild an exception, of its own class if that can be imported."""
    module, _, name = recorded["class"].rpartition(".")
    try:
        class_ = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        class_ = type(name, (Exception,), {})
    attributes = dict(recorded["attributes"])
    exception: BaseException = class_.__new__(class_)
    exception.args = tuple(attributes.pop("args", ()))
    for key, value in attributes.items():
        try:
            setattr(exception, key, rebuild(value, {}))
        except AttributeError:
            # A property without a setter follows from the other attributes.
            continue
    return exception


def rebuild_key(recorded: Mapping[str, Any]) -> Any:
    """Rebuild the client's key."""
    key_class = importlib.import_module("litellm.proxy._types").UserAPIKeyAuth
    fields = {name: rebuild(value, {}) for name, value in recorded["fields"].items()}
    # The validators would hash the hash again, and need more packages for that.
    return key_class.model_construct(**fields)


TAGS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "datetime": lambda recorded: datetime.fromisoformat(recorded["at"]),
    "float": lambda recorded: float(recorded["value"]),
    "exception": rebuild_exception,
    "auth": rebuild_key,
}


def rebuild(value: Any, shared: dict[int, Any]) -> Any:
    """Rebuild a recorded value. A value whose id is in `shared` is taken from there."""
    if not isinstance(value, (dict, list)):
        return value
    if id(value) in shared:
        return shared[id(value)]
    if isinstance(value, list):
        return [rebuild(item, shared) for item in value]
    if "$" in value:
        return TAGS[value["$"]](value)
    return {key: rebuild(item, shared) for key, item in value.items()}


def rebuild_shared(value: Any, shared: dict[int, Any]) -> None:
    """Rebuild a recorded value and all values in it into `shared`, by id, so that events share them."""
    if isinstance(value, (dict, list)):
        tagged = isinstance(value, dict) and "$" in value
        for item in () if tagged else value.values() if isinstance(value, dict) else value:
            rebuild_shared(item, shared)
        shared[id(value)] = rebuild(value, shared)


def with_change(value: Any, path: Sequence[Any], new: Any) -> Any:
    """Return `value` with `new` at `path`, sharing the rest; unchanged if `path` does not exist."""
    if not path:
        return new
    key, *rest = path
    if isinstance(value, list):
        if not isinstance(key, int) or key >= len(value):
            return value
        return [*value[:key], with_change(value[key], rest, new), *value[key + 1 :]]
    if not isinstance(value, dict) or (rest and key not in value):
        return value
    if not rest and isinstance(new, dict) and new.get("$") == "absent":
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: with_change(value.get(key), rest, new)}


def read_calls(file: Path) -> list[HookCall]:
    """Read a file of events as the hook calls that they were."""
    content = json.loads(file.read_text(encoding="utf-8"))
    bases = content["bases"]
    shared: dict[int, Any] = {}
    for base in bases:
        rebuild_shared(base, shared)
    result = []
    for event in content["events"]:
        arguments = bases[event["base"]]
        for path, new in event["changes"]:
            arguments = with_change(arguments, path, new)
        ready = rebuild(arguments, shared)
        result.append((event["hook"], tuple(ready.get(name) for name in PARAMETERS[event["hook"]])))
    return result


# -- feeding and measuring ---------------------------------------------------------------------------------------------


class Replay:
    """One callback and the events for it; the methods without an underscore are commands."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        litellm = importlib.import_module("litellm")
        for name, value in job.get("settings", {}).items():
            setattr(litellm, name, value)
        if job.get("bare"):
            stub_proxy()
        if job.get("several_workers") or job.get("models"):
            configure_proxy(job.get("models", {}))
        logging.getLogger().addHandler(CriticalLog())
        self._calls = read_calls(Path(job["events"]))
        self._pass_time = fake_clock() if any(hook == TIME for hook, _ in self._calls) else None
        self._callback = self._make_callback(job["arm"])
        self._raised: Counter[str] = Counter()
        self._client: Any = importlib.import_module("prometheus_client")
        gc.collect()  # In a proxy these events would not exist, so the collector must not visit them.
        gc.freeze()

    def _make_callback(self, arm: str) -> Any:
        try:
            return make_callback(arm)
        except ValueError as error:
            CriticalLog.messages.append(str(error))
            return Noop()

    async def feed(self) -> dict[str, Any]:
        """Feed all events, in order. Return their number, and how often each exception was raised."""
        for hook, arguments in self._calls:
            if hook == TIME and self._pass_time is not None:
                await self._generate()
                self._pass_time(*arguments)
                await self._generate()
                continue
            try:
                await getattr(self._callback, hook)(*arguments)
            except Exception as error:  # noqa: BLE001 - LiteLLM catches all of them, too
                self._raised[f"{hook} {type(error).__name__}"] += 1
                if hook in COUNTED_FAILURES:
                    # LiteLLM passes the name of the class. One name for both, so that their numbers are compared.
                    self._callback.increment_callback_logging_failure("callback")
            await asyncio.sleep(0)
        return {"events": len(self._calls), "raised": dict(self._raised)}

    async def scrape(self) -> dict[str, Any]:
        """Return the text of a scrape, how long it took, and the critical log messages."""
        began, used = time.perf_counter(), time.process_time()
        text = await self._generate()
        return {
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - used,
            "bytes": len(text),
            "scrape": text.decode(),
            "critical": CriticalLog.messages,
        }

    async def measure_cpu(self) -> dict[str, Any]:
        """Return the CPU of all events, the flush and one scrape."""
        began = time.process_time()
        fed_events = await self.feed()
        fed_at = time.process_time()
        await self._generate()
        end = time.process_time()
        return {**fed_events, "cpu_seconds": end - began, "scrape_cpu_seconds": end - fed_at}

    async def measure_delay(self) -> dict[str, Any]:
        """Feed an event every few milliseconds. Return the largest delay between due time and end, in seconds.

        A delay counts only as far as this thread used the CPU in it, which leaves out the machine's other load. The
        garbage collector is off: with any callback, its pauses are longer than all other delays.
        """
        gc.collect()
        gc.disable()
        worst, due, cpu_before = 0.0, time.perf_counter(), time.thread_time()
        for hook, arguments in self._calls:
            due += PAUSE_SECONDS
            while (remaining := due - time.perf_counter()) > 0:
                await asyncio.sleep(remaining)
            await getattr(self._callback, hook)(*arguments)
            late, cpu_now = time.perf_counter() - due, time.thread_time()
            worst, cpu_before = max(worst, min(late, cpu_now - cpu_before)), cpu_now
        gc.enable()
        return {"events": len(self._calls), "worst_seconds": worst}

    async def measure_allocations(self) -> dict[str, Any]:
        """Return how many bytes and blocks were requested while all events were fed and scraped once."""
        memray, native = importlib.import_module("memray"), importlib.import_module("memray._memray")
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder, "records")
            with memray.Tracker(records, trace_python_allocators=True):
                await self.feed()
                await self._generate()
            statistics = native.compute_statistics(str(records))
        return {
            "events": len(self._calls),
            "bytes": statistics.total_memory_allocated,
            "blocks": statistics.total_num_allocations,
        }

    async def _generate(self) -> bytes:
        # Our callback's own /metrics endpoint drains first, too.
        drain = getattr(self._callback, "drain", None)
        if drain is not None:
            await drain()
        registry, folder = self._client.REGISTRY, os.environ.get(MULTIPROCESS_FOLDER)
        if folder:
            registry = self._client.CollectorRegistry()
            importlib.import_module("prometheus_client.multiprocess").MultiProcessCollector(registry, folder)
        text: bytes = self._client.generate_latest(registry)
        return text


async def main(job: Path) -> None:
    """Run the command in each line of stdin, until an empty one."""
    # Some callbacks print tables, which must not mix with the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.ERROR)
    content = json.loads(job.read_text(encoding="utf-8"))
    # The Prometheus client, which LiteLLM imports, reads the environment at import.
    if content.get("several_workers"):
        configure_worker(content["arm"])
    replay = Replay(content)
    commands = {
        "feed": replay.feed,
        "scrape": replay.scrape,
        "measure_cpu": replay.measure_cpu,
        "measure_delay": replay.measure_delay,
        "measure_allocations": replay.measure_allocations,
    }
    version = importlib.import_module("importlib.metadata").version("litellm")
    replies.write(json.dumps({"litellm": version}) + "\n")
    replies.flush()
    loop = asyncio.get_running_loop()
    # The event loop must not block while it waits: a callback may have a timer.
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        replies.write(json.dumps(await commands[line]()) + "\n")
        replies.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
