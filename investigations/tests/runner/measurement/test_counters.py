"""Counters of real servers and processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import cycle
from threading import Thread
from typing import TYPE_CHECKING

import asyncpg
import pytest
from redis.asyncio import Redis

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.measurement import counters
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres
from evenkeel_lab.stack.servers.valkey import valkey

if TYPE_CHECKING:
    from pathlib import Path


async def test_commands_are_those_of_one_database_of_valkey(tmp_path: Path) -> None:
    async with stack_folder() as folder, valkey(folder, tmp_path) as server:
        own, other = (server.url.removesuffix("/0") + place for place in ("/1", "/2"))
        async with Redis.from_url(own) as client, Redis.from_url(other) as neighbour:
            await client.set("a", 1)
            before = await counters.commands(own)
            for _ in range(10):
                await client.get("a")
                await neighbour.get("a")
                await neighbour.get("b")
            after = await counters.commands(own)
            assert sum(after.values()) - sum(before.values()) == 10


async def test_what_postgres_waits_for_is_said_by_name(tmp_path: Path) -> None:
    async with stack_folder() as folder, Postgres(folder, tmp_path) as server:
        first, second = await asyncpg.connect(server.url), await asyncpg.connect(server.url)
        try:
            assert await counters.waits(server.url) == {}
            await first.execute("SELECT pg_advisory_lock(1)")
            waiting = asyncio.create_task(second.execute("SELECT pg_advisory_lock(1)"))
            while not (found := await counters.waits(server.url)):
                await asyncio.sleep(0.01)
            assert found == {"Lock:advisory": 1}
            await first.execute("SELECT pg_advisory_unlock(1)")
            await waiting
        finally:
            await first.close()
            await second.close()


def test_a_tree_of_processes_is_counted() -> None:
    # The system counts by hundredths of a second: less is nothing.
    child = "import time\nwhile time.process_time() < 0.1: pass\nprint('spent', flush=True)\ninput()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"spent\n"
        found = counters.spent(process.pid)
        process.communicate(b"\n")
    assert found.total > 0
    assert found.memory_mib > 1
    with pytest.raises(RigFailure, match="has ended"):
        counters.spent(process.pid)


@pytest.mark.parametrize(("workers", "told"), [(2, {"7": 3, "8": 5}), pytest.param(3, None, marks=pytest.mark.slow)])
async def test_each_worker_tells_how_often_its_file_was_locked(workers: int, told: dict[str, int] | None) -> None:
    answers = cycle(
        {"pid": pid, "stores": [{"locked": locked}, {"locked": 1}]} for pid, locked in ((7, 2), (7, 2), (8, 4))
    )

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert (self.path, self.headers["Authorization"]) == ("/evenkeel/journal/health", "Bearer sk-a")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(next(answers)).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            assert await counters.locked(f"http://127.0.0.1:{server.server_port}", "sk-a", workers) == told
        finally:
            server.shutdown()
            serving.join()


@pytest.mark.parametrize(("start", "end", "told"), [(0, 10, [1.0, 2.0]), (2, 10, [2.0]), (11, 12, [])])
def test_how_late_a_loop_was_is_told_of_a_period(tmp_path: Path, start: int, end: int, told: list[float]) -> None:
    (tmp_path / "lag-1-77").write_text("1 1000\n3 2000\ntorn")
    (tmp_path / "lag-11-78").write_text("1 9000\n")
    assert list(counters.lags(tmp_path / "lag-1", start, end)) == told
