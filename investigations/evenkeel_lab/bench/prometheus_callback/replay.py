"""Feeds recorded events to a callback, in a process that has LiteLLM: `python replay.py JOB`, a line for each wish.

JOB is a file of JSON: `arm`, which callback (`stock`, `noop`, `evenkeel`, or `module:attribute`), `settings`, LiteLLM's
own, `events`, a file as `events.packed` writes it, `bare`: whether LiteLLM's proxy is only hinted at, which spares
half a minute of imports where nothing asks for it, `models`, the proxy's router's, each with a limit of requests or
null, and `several_workers`: whether this is one of them. The wishes are the methods of `Replay`; each is answered by
one line of JSON. This is a program of its own, and knows nothing of the lab: any LiteLLM may run it.

Events are fed as LiteLLM does it: one coroutine after another, awaited in one loop that has its turn in between; what a
callback raises is caught and counted. There is no database and no Redis; the router, if there is one, serves nobody.
An event may be that time passes, for which nobody waits: scrapes come before and after it, as they do meanwhile. Events
are built before anything is measured, and share what is the same in them, as far as JSON has it.

CPU is all of the process, with the flush and one scrape; that of the loop is what `noop` takes. Allocation is counted
by memray, which hooks Python's allocators: every block that is asked for and how big it is, whether it is freed at once
or never. What comes from a free list (a small tuple, a float) was not asked for, and is not in it.
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

    Call = tuple[str, tuple[Any, ...]]

# Or it asks the internet for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

PROXY_SERVER: Final = "litellm.proxy.proxy_server"
FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
GUARD: Final = "litellm.proxy.auth.user_api_key_auth"
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
LOGGED: Final = ("async_log_success_event", "async_log_failure_event")
"""The calls whose failure LiteLLM counts."""


class Bare(ModuleType):
    """Stands for the proxy's own module: nothing is connected, and nobody is there."""

    def __init__(self) -> None:
        super().__init__(PROXY_SERVER)
        caching = importlib.import_module("litellm.caching.caching")
        self.user_api_key_cache = caching.DualCache()
        self.general_settings: dict[str, Any] = {}
        self.app = importlib.import_module("fastapi").FastAPI()

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def stand_in() -> None:
    """Have LiteLLM find no proxy, and what its proxy imports first, where only the library is installed."""
    sys.modules[PROXY_SERVER] = Bare()
    guard: Any = ModuleType(GUARD)
    guard.user_api_key_auth = lambda: None
    sys.modules[GUARD] = guard
    if importlib.util.find_spec("backoff") is None:
        backoff: Any = ModuleType("backoff")
        backoff.on_exception = lambda *_, **__: lambda function: function
        backoff.expo = None
        sys.modules["backoff"] = backoff


def worker(arm: str) -> None:
    """Make this one of several workers. For its own callback, LiteLLM makes their folder; ours has to."""
    if arm == "stock":
        os.environ[FOLDER] = tempfile.mkdtemp(dir=Path.cwd())
    else:
        os.environ |= {"NUM_WORKERS": "2", "TMPDIR": str(Path.cwd())}


def configured(models: Mapping[str, int | None]) -> None:
    """Set our callback in the proxy module's configuration, and give it a router."""
    server: Any = importlib.import_module(PROXY_SERVER)
    server.proxy_config = getattr(server, "proxy_config", None) or SimpleNamespace()
    server.proxy_config.config = {"litellm_settings": {"callbacks": ["litellm_evenkeel.proxy.prometheus"]}}
    # LiteLLM's proxy imports it; what it makes there is in a scrape.
    with contextlib.suppress(ImportError):
        importlib.import_module("litellm.accounting.metrics")
    if models:
        deployments = [
            {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "none", "rpm": rpm}}
            for name, rpm in models.items()
        ]
        server.llm_router = importlib.import_module("litellm").Router(model_list=deployments)


def passing() -> Callable[[float], None]:
    """Tell the time from now on; return what lets seconds pass, for which nobody waits."""
    passed: list[float] = []
    real, steady = time.time, time.monotonic
    time.time = lambda: real() + sum(passed)
    time.monotonic = lambda: steady() + sum(passed)
    return passed.append


class Critical(logging.Handler):
    """Keeps what is critical: why a callback counts nothing."""

    told: Final[list[str]] = []

    def emit(self, record: logging.LogRecord) -> None:  # noqa: D102
        if record.levelno >= logging.CRITICAL:
            self.told.append(record.getMessage())


class Noop:
    """A callback that does nothing."""

    async def nothing(self, *_: object) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        if name not in PARAMETERS:
            raise AttributeError(name)
        return self.nothing


def callback(arm: str) -> Any:
    """Return the callback that an arm stands for."""
    module, _, attribute = ARMS.get(arm, arm).partition(":")
    if module == "noop":
        return Noop()
    found = getattr(importlib.import_module(module), attribute)
    return found() if inspect.isclass(found) else found


ARMS: Final[Mapping[str, str]] = {
    "noop": "noop",
    "stock": "litellm.integrations.prometheus:PrometheusLogger",
    "evenkeel": "litellm_evenkeel.proxy:prometheus",
}


# -- building events ---------------------------------------------------------------------------------------------------


def failure(told: Mapping[str, Any]) -> BaseException:
    """Return an exception again, of its own class if there is one here."""
    module, _, name = told["class"].rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        kind = type(name, (Exception,), {})
    attributes = dict(told["attributes"])
    made: BaseException = kind.__new__(kind)
    made.args = tuple(attributes.pop("args", ()))
    for key, value in attributes.items():
        try:
            setattr(made, key, built(value, {}))
        except AttributeError:
            # A property, made of the others.
            continue
    return made


def caller(told: Mapping[str, Any]) -> Any:
    """Return the caller's key again."""
    known = importlib.import_module("litellm.proxy._types").UserAPIKeyAuth
    fields = {name: built(value, {}) for name, value in told["fields"].items()}
    # Its validators would hash what is hashed already, and want more packages for that.
    return known.model_construct(**fields)


TAGS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "datetime": lambda told: datetime.fromisoformat(told["at"]),
    "float": lambda told: float(told["value"]),
    "exception": failure,
    "auth": caller,
}


def built(value: Any, known: dict[int, Any]) -> Any:
    """Return what a recorded value was; of those in `known`, the one that is there."""
    if not isinstance(value, (dict, list)):
        return value
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, list):
        return [built(one, known) for one in value]
    if "$" in value:
        return TAGS[value["$"]](value)
    return {key: built(one, known) for key, one in value.items()}


def remember(value: Any, known: dict[int, Any]) -> None:
    """Build all there is in a recorded value, so that events may share it."""
    if isinstance(value, (dict, list)):
        tagged = isinstance(value, dict) and "$" in value
        for one in () if tagged else value.values() if isinstance(value, dict) else value:
            remember(one, known)
        known[id(value)] = built(value, known)


def changed(value: Any, steps: Sequence[Any], to: Any) -> Any:
    """Return a recorded value with another one at a place, sharing the rest; a place that is not there is left out."""
    if not steps:
        return to
    step, *below = steps
    if isinstance(value, list):
        if not isinstance(step, int) or step >= len(value):
            return value
        return [*value[:step], changed(value[step], below, to), *value[step + 1 :]]
    if not isinstance(value, dict) or (below and step not in value):
        return value
    if not below and isinstance(to, dict) and to.get("$") == "absent":
        return {key: one for key, one in value.items() if key != step}
    return {**value, step: changed(value.get(step), below, to)}


def calls(place: Path) -> list[Call]:
    """Return the calls that a file of events stands for."""
    told = json.loads(place.read_text(encoding="utf-8"))
    bases = told["bases"]
    known: dict[int, Any] = {}
    for base in bases:
        remember(base, known)
    found = []
    for event in told["events"]:
        arguments = bases[event["base"]]
        for steps, to in event["changes"]:
            arguments = changed(arguments, steps, to)
        ready = built(arguments, known)
        found.append((event["hook"], tuple(ready.get(name) for name in PARAMETERS[event["hook"]])))
    return found


# -- feeding and measuring ---------------------------------------------------------------------------------------------


class Replay:
    """A callback, and the events for it."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        litellm = importlib.import_module("litellm")
        for name, value in job.get("settings", {}).items():
            setattr(litellm, name, value)
        if job.get("bare"):
            stand_in()
        if job.get("several_workers") or job.get("models"):
            configured(job.get("models", {}))
        logging.getLogger().addHandler(Critical())
        self._calls = calls(Path(job["events"]))
        self._pass_time = passing() if any(hook == TIME for hook, _ in self._calls) else None
        self._callback = self._made(job["arm"])
        self._raised: Counter[str] = Counter()
        self._client: Any = importlib.import_module("prometheus_client")
        gc.collect()  # What was built is nobody's garbage, and in a proxy it would not be there.
        gc.freeze()

    def _made(self, arm: str) -> Any:
        try:
            return callback(arm)
        except ValueError as error:
            Critical.told.append(str(error))
            return Noop()

    async def feed(self) -> dict[str, Any]:
        """Feed all events, in order."""
        for hook, arguments in self._calls:
            if hook == TIME and self._pass_time is not None:
                await self._scraped()
                self._pass_time(*arguments)
                await self._scraped()
                continue
            try:
                await getattr(self._callback, hook)(*arguments)
            except Exception as error:  # noqa: BLE001 - LiteLLM catches all of them, too
                self._raised[f"{hook} {type(error).__name__}"] += 1
                if hook in LOGGED:
                    # LiteLLM tells the name of its class; here it is one, or how often it was would not be compared.
                    self._callback.increment_callback_logging_failure("callback")
            await asyncio.sleep(0)
        return {"events": len(self._calls), "raised": dict(self._raised)}

    async def scrape(self) -> dict[str, Any]:
        """Return what a scrape shows, and how long it took."""
        began, used = time.perf_counter(), time.process_time()
        text = await self._scraped()
        return {
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - used,
            "bytes": len(text),
            "scrape": text.decode(),
            "refusals": Critical.told,
        }

    async def measure(self) -> dict[str, Any]:
        """Return the CPU of all events, the flush and one scrape."""
        began = time.process_time()
        told = await self.feed()
        fed = time.process_time()
        await self._scraped()
        return {**told, "cpu_seconds": time.process_time() - began, "scrape_cpu_seconds": time.process_time() - fed}

    async def pace(self) -> dict[str, Any]:
        """Feed all events, one each few milliseconds; return how late any of them was done at most.

        Of that, it counts what this thread's CPU can account for: what others do to a machine is not in it. Neither is
        Python's garbage collector, which stops an event for longer than all else, whatever callback there is.
        """
        gc.collect()
        gc.disable()
        worst, due, ended = 0.0, time.perf_counter(), time.thread_time()
        for hook, arguments in self._calls:
            due += PAUSE_SECONDS
            while (left := due - time.perf_counter()) > 0:
                await asyncio.sleep(left)
            await getattr(self._callback, hook)(*arguments)
            late, now = time.perf_counter() - due, time.thread_time()
            worst, ended = max(worst, min(late, now - ended)), now
        gc.enable()
        return {"events": len(self._calls), "worst_seconds": worst}

    async def allocate(self) -> dict[str, Any]:
        """Return how much memory was asked for meanwhile, and in how many blocks."""
        memray, native = importlib.import_module("memray"), importlib.import_module("memray._memray")
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder, "records")
            with memray.Tracker(records, trace_python_allocators=True):
                await self.feed()
                await self._scraped()
            found = native.compute_statistics(str(records))
        return {
            "events": len(self._calls),
            "bytes": found.total_memory_allocated,
            "blocks": found.total_num_allocations,
        }

    async def _scraped(self) -> bytes:
        # As whoever answers a scrape of ours does first.
        drain = getattr(self._callback, "drain", None)
        if drain is not None:
            await drain()
        registry, folder = self._client.REGISTRY, os.environ.get(FOLDER)
        if folder:
            registry = self._client.CollectorRegistry()
            importlib.import_module("prometheus_client.multiprocess").MultiProcessCollector(registry, folder)
        text: bytes = self._client.generate_latest(registry)
        return text


async def main(job: Path) -> None:
    """Do what each line of stdin wishes."""
    # Some callbacks print tables; and the answers are for the bench.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.ERROR)
    told = json.loads(job.read_text(encoding="utf-8"))
    # Before anything of LiteLLM is imported, and with it Prometheus' client.
    if told.get("several_workers"):
        worker(told["arm"])
    replay = Replay(told)
    wishes = {
        "feed": replay.feed,
        "scrape": replay.scrape,
        "measure": replay.measure,
        "pace": replay.pace,
        "allocate": replay.allocate,
    }
    version = importlib.import_module("importlib.metadata").version("litellm")
    answers.write(json.dumps({"litellm": version}) + "\n")
    answers.flush()
    loop = asyncio.get_running_loop()
    # The loop goes on while it waits: a callback may have a timer.
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        answers.write(json.dumps(await wishes[line]()) + "\n")
        answers.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
