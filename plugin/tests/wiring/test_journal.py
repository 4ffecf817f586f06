"""The journal as a worker of several wires it, and as that ends; each is a process of its own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

WORKER = """
import asyncio, json, sys, warnings
from types import ModuleType, SimpleNamespace
warnings.simplefilter("ignore")
from litellm_evenkeel.admin import routes
from litellm_evenkeel.wiring import journal as wiring

path, terms, breaks = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
async def ends():
    pass
server = sys.modules["litellm.proxy.proxy_server"] = ModuleType("litellm.proxy.proxy_server")
server.proxy_config = SimpleNamespace(config={"evenkeel": {"journal": {"path": path, **terms}}})
server.proxy_shutdown_event = ends
# There is no app to which routes could be added.
routes.install_health = lambda *_: None

async def work():
    made = wiring.journal()
    # Its series are written for the first time now, before there is anything to tell.
    await asyncio.sleep(0)
    event = {"standard_logging_object": {"startTime": 1.8e9, "endTime": 1.8e9 + 1, "model": "m"}}
    await made.async_log_success_event(event, None, None, None)
    if breaks:
        # As if a LiteLLM to come had no such thing any more: all is left to what is done at exit.
        setattr(type(wiring.GLOBAL_LOGGING_WORKER), *breaks, None)
    else:
        await server.proxy_shutdown_event()

asyncio.run(work())
"""
READER = "from litellm_evenkeel.instrumentation.export import exposition; print(exposition().decode())"


def run(code: str, folder: Path, *arguments: str) -> str:
    folder.mkdir(exist_ok=True)
    told = {"PROMETHEUS_MULTIPROC_DIR": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=True).stdout


def test_what_is_dropped_as_a_worker_ends_is_told(tmp_path: Path) -> None:
    path, folder = tmp_path / "other.db", tmp_path / "prometheus"
    # Where no row can be written.
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    run(WORKER, folder, str(path), '{"drain_timeout": 0.2, "flush_interval": 0.01}')
    lines = run(READER, folder).splitlines()
    told = dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    assert told['evenkeel_journal_dropped_total{reason="shutdown",store="sqlite"}'] == "1.0"
    assert told['evenkeel_journal_queue_length{store="sqlite"}'] == "0.0"
    assert not [name for name in told if "mismatches" in name]


def test_what_waits_is_written_at_exit_whatever_litellm_has_become(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    run(WORKER, tmp_path / "prometheus", str(path), '{"flush_interval": 600}', "_flush_on_exit")
    with closing(SqliteStore(path, create=False)) as store:
        assert len(store.newest(10)) == 1
