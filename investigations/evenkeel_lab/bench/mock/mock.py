"""Benchmark of the mock provider: CPU time per request and chunk, next to a FastAPI server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Command, running, until_ready
from evenkeel_lab.stack.servers.mock import READY_SECONDS, answers
from evenkeel_mock.probe import Cpu, ask, listen, request_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.progress import Steps

ROUNDS = 7
STREAM_ROUNDS = 5
CONNECTIONS = 32
REQUESTS = 300
REFERENCE_REQUESTS = 60
STREAMS = 1000
REFERENCE_STREAMS = 200
CHUNKS = 50
GAP_MS = 20.0
MICRO = 1e6
BODY: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "user", "content": "Hello there, how is the sea today?"}],
}


class Server(NamedTuple):
    """A server that is measured."""

    port: int
    cpu: Cpu


@contextlib.asynccontextmanager
async def server(argv: list[str], folder: Path) -> AsyncIterator[Server]:
    """Run a server until it is left."""
    port = free_port()
    command = Command(argv[0], [sys.executable, "-m", *argv, str(port)], log=folder / f"{argv[0]}.log", cwd=folder)
    async with running(command) as child:
        await until_ready(child, lambda: answers(f"http://{LOOPBACK}:{port}/_mock/health"), READY_SECONDS)
        yield Server(port, Cpu(child.pid))


async def cpu_of_requests(target: Server, times: int) -> float:
    """Return the CPU seconds of one small chat request."""
    request = request_bytes(json.dumps(BODY).encode())
    before = target.cpu.seconds()
    await asyncio.to_thread(ask, target.port, request, times, CONNECTIONS)
    return (target.cpu.seconds() - before) / (times * CONNECTIONS)


async def cpu_of_chunks(target: Server, streams: int) -> tuple[float, list[float]]:
    """Return the CPU seconds of one chunk, and how late the chunks were."""
    body = BODY | {"stream": True, "max_tokens": CHUNKS, "gap_ms": GAP_MS}
    before = target.cpu.seconds()
    request = request_bytes(json.dumps(body).encode())
    late = await asyncio.to_thread(listen, target.port, request, streams, GAP_MS)
    return (target.cpu.seconds() - before) / (streams * CHUNKS), late


async def bench_mock(steps: Steps) -> list[Metric]:
    """Measure, and return the metrics: medians of the rounds."""
    paced = ["evenkeel_mock", "--length", str(CHUNKS), "--gap-ms", str(GAP_MS), "--port"]
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        folder = Path(name)
        async with (
            server(["evenkeel_mock", "--port"], folder) as ours,
            server(paced, folder) as streaming,
            server(["evenkeel_lab.bench.mock.reference"], folder) as theirs,
        ):
            requests: list[tuple[float, float]] = []
            with steps.step(f"small chat requests, {ROUNDS} rounds each of mock and FastAPI"):
                await cpu_of_requests(ours, REFERENCE_REQUESTS)
                await cpu_of_requests(theirs, REFERENCE_REQUESTS)
                for _ in range(ROUNDS):
                    pair = await cpu_of_requests(ours, REQUESTS), await cpu_of_requests(theirs, REFERENCE_REQUESTS)
                    requests.append(pair)
            with steps.step(f"{STREAMS} streams of {CHUNKS} chunks every {GAP_MS:.0f} ms, {STREAM_ROUNDS} rounds"):
                await cpu_of_chunks(streaming, REFERENCE_STREAMS)
                streams = [await cpu_of_chunks(streaming, STREAMS) for _ in range(STREAM_ROUNDS)]
                their_chunk, _ = await cpu_of_chunks(theirs, REFERENCE_STREAMS)
    our_cpu = statistics.median(pair[0] for pair in requests)
    their_cpu = statistics.median(pair[1] for pair in requests)
    ratio = statistics.median(pair[1] / pair[0] for pair in requests)
    chunk = statistics.median(round_[0] for round_ in streams)
    lateness = [statistics.quantiles(late, n=100, method="inclusive") for _, late in streams]
    fastapi = f"FastAPI on uvicorn: {their_cpu * MICRO:.1f} us"
    return [
        Metric("cpu_us_per_request", our_cpu * MICRO, "us", "<= 45", fastapi),
        Metric("cpu_ratio_fastapi", ratio, "x", ">= 4", fastapi),
        Metric("cpu_us_per_chunk", chunk * MICRO, "us", "<= 20", f"FastAPI on uvicorn: {their_chunk * MICRO:.1f} us"),
        Metric(
            "chunk_lateness_p99_ms",
            statistics.median(cuts[98] for cuts in lateness),
            "ms",
            "<= 15",
            f"p50 {statistics.median(cuts[49] for cuts in lateness):.1f} ms; p99 of each round: "
            + ", ".join(f"{cuts[98]:.1f}" for cuts in lateness),
        ),
        Metric("requests_per_second_per_core", 1 / our_cpu, "1/s", None, f"FastAPI on uvicorn: {1 / their_cpu:.0f}"),
    ]
