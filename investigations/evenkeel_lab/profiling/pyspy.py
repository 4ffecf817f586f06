"""Sample with py-spy, which reads the memory of Python processes from outside.

py-spy pauses a process for each sample. `--nonblocking` would cost the process less, but show stacks that never were:
functions below others that do not call them. Idle threads are left out. Threads without the GIL are not: the work of
C libraries is CPU time too. Native frames are off, because they multiply the cost. py-spy cannot separate garbage
collections from the functions that they interrupt; the probe of a process can.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import psutil

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.profiling.sampler import RATE, CannotSample, Samples, Subject, cpu, pythons
from evenkeel_lab.profiling.stacks import (
    Stack,
    costs_of,
    effective_samples,
    microseconds_per_sample,
    parse,
    separate_collections,
    with_unseen,
)
from evenkeel_lab.runner.measurement.probes import probed_processes, recording
from evenkeel_lab.stack.probes.probe_switch import STACKS
from evenkeel_lab.stack.processes.process import Child, Command, running, until_ready

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
PACKAGE = "py-spy"
READY = "Sampling process"
READY_SECONDS, WRITE_SECONDS = 20.0, 30.0
NO_PERMISSION = r"(?i)permission denied|not permitted|requires root|os error 1\b"


async def record(
    subject: Subject, folder: Path, work: Callable[[], Awaitable[T]], program: Path | None = None
) -> tuple[T, Samples]:
    """Sample all Python processes of a subject while the work is done."""
    program, processes = program or find(), pythons(subject.pid)
    if not processes:
        raise CannotSample("None of its processes is Python.", hint="Investigate without --profile.")
    async with contextlib.AsyncExitStack() as stack:
        results = await stack.enter_async_context(recording(subject.path, probed_processes(subject.path), STACKS, 0))
        spies = [await _attach(stack, program, process, folder) for process in processes]
        before = [(_threads(process), cpu(process)) for process in processes]
        done = await work()
        after = [(_threads(process), cpu(process)) for process in processes]
    stacks: Counter[Stack] = Counter()
    count = 0.0
    for process, spy, (threads_before, before_all), (threads, all_now) in zip(
        processes, spies, before, after, strict=True
    ):
        samples = parse(_written(folder / f"{process.pid}.txt", spy))
        of_threads, whole = _since(threads, threads_before), max(all_now - before_all, 0.0)
        worth = microseconds_per_sample(samples, of_threads, RATE)
        collections = results.get(process.pid, {}).get("collections", {})
        stacks += with_unseen(separate_collections(costs_of(samples, worth), collections), whole)
        count += effective_samples(samples, worth)
    return done, Samples(f"py-spy {metadata.version(PACKAGE)}", RATE, count, stacks)


def find() -> Path:
    """Return the path of the program that py-spy's wheel installed."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.distribution(PACKAGE).files or ():
            if file.name == PACKAGE:
                return Path(str(file.locate())).resolve()
    raise CannotSample("py-spy is not installed.", hint="Install litellm-evenkeel[lab].")


async def _attach(stack: contextlib.AsyncExitStack, program: Path, process: psutil.Process, folder: Path) -> Child:
    log, file = folder / f"{process.pid}.log", folder / f"{process.pid}.txt"
    what: Sequence[str | Path] = ("--pid", str(process.pid), "--rate", str(RATE), "--output", file)
    how = ("--format", "raw", "--threads", "--nolineno", "--full-filenames")
    command = Command(
        PACKAGE, [program, "record", *how, *what], log=log, stop_signal=signal.SIGINT, grace=WRITE_SECONDS
    )
    child = await stack.enter_async_context(running(command))

    async def samples() -> bool:
        return READY in log.read_text(errors="replace")

    try:
        await until_ready(child, samples, READY_SECONDS)
    except ProcessFailed as error:
        output = log.read_text(errors="replace")
        denied = re.search(NO_PERMISSION, output)
        why = "has no permission to read other processes (ptrace)" if denied else "could not read the process"
        raise CannotSample(f"py-spy {why}.", hint="Profile without it.", details=output) from error
    return child


def _threads(process: psutil.Process) -> dict[int, float]:
    with contextlib.suppress(psutil.Error):
        return {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
    return {}


def _since(now: dict[int, float], before: dict[int, float]) -> dict[int, float]:
    return {thread: max(spent - before.get(thread, 0.0), 0.0) for thread, spent in now.items()}


def _written(file: Path, spy: Child) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise spy.failed("sampled, but wrote nothing") from None
