"""The probe of a measured proxy, in a small server."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from evenkeel_lab.stack.litellm.proxy import PROBE

if TYPE_CHECKING:
    from pathlib import Path

# Like LiteLLM, it draws while it starts, after imports have drawn who knows how often.
DRAWS = """
import random, sys
import uvicorn

async def application(scope, receive, send):
    await receive()
    print(random.random(), flush=True)
    await send({"type": "lifespan.startup.failed"})

for _ in range(int(sys.argv[1])):
    random.random()
uvicorn.run(application, port=0, log_level="critical")
"""


def drawn(place: Path, before: int, **env: str) -> str:
    env = os.environ | {"PYTHONPATH": str(PROBE), "LAG_OF_PROXY": str(place / "lag")} | env
    command = [sys.executable, "-c", DRAWS, str(before)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60).stdout.strip()


def test_servers_with_the_same_seed_draw_the_same_numbers_at_start(tmp_path: Path) -> None:
    first, second = drawn(tmp_path, 1, SEED_OF_PROXY="3"), drawn(tmp_path, 7, SEED_OF_PROXY="3")
    assert first == second != ""
    assert first not in {drawn(tmp_path, 1), drawn(tmp_path, 1, SEED_OF_PROXY="4")}
