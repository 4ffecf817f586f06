"""Locustfiles of users: the example of docs/load.md, and mistakes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evenkeel_load.records.merge import merge
from evenkeel_load.scenario import SCENARIOS

ROOT = Path(__file__).parents[2]
TWICE = """
class Twice(LoadUser):
    @task
    def twice(self):
        self.post("/v1/chat/completions", {})
        self.post("/v1/chat/completions", {})
"""
HEADER = """
from locust import User, task
from evenkeel_load.locust_side.load_user import LoadUser
"""


def example() -> str:
    """Return the locustfile in docs/load.md."""
    page = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
    return page.partition("```python\n")[2].partition("```")[0]


def locust(folder: Path, source: str, host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = folder / "locustfile.py"
    file.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "locust", "-f", str(file), "--host", host, "--headless"]
    command += ["-u", "4", "--records", str(folder / "records"), "--api-key", "sk-known", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_example_of_the_documentation_runs(provider: str, tmp_path: Path) -> None:
    finished = locust(tmp_path, example(), provider, "--requests", "100", "--user-mode", "half-unknown")
    assert finished.returncode == 0, finished.stderr
    records = pq.read_table(merge(tmp_path / "records")).to_pylist()
    assert {record["status"] for record in records} == {200}
    calls = Counter(record["call"] for record in records)
    assert set(calls) == {"short", "thorough"}
    assert calls["short"] > 2 * calls["thorough"]
    assert all(record["chunk_ns"] for record in records if record["call"] == "thorough")
    assert Counter(record["user"].partition("-")[0] for record in records) == {"unknown": 48, "customer": 52}


def test_the_example_has_twenty_lines() -> None:
    lines = [line for line in example().splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 20


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("class Idle(LoadUser):\n    @task\n    def wait(self): pass", "The task wait sends no request."),
        (TWICE, "The task twice sends a second request."),
        ("class Empty(LoadUser):\n    pass", "Empty has no task."),
        (
            "class A(LoadUser):\n    @task\n    def a(self): pass\nclass B(A): pass",
            "A locustfile needs one class of LoadUser, and this one has A, B.",
        ),
    ],
)
def test_a_mistake_in_a_locustfile_is_explained(source: str, error: str, provider: str, tmp_path: Path) -> None:
    finished = locust(tmp_path, HEADER + source, provider, "--requests", "4")
    assert error in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.returncode == 3


def test_the_tasks_of_each_scenario_are_its_calls() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import importlib\n"
        "for name in sys.argv[2:]:\n"
        "    user = getattr(importlib.import_module(name), name.title() + 'User')\n"
        "    print(name, user.scenario.name, *user.calls.things)"
    )
    command = [sys.executable, "-c", program, str(ROOT / "loadtest" / "scenarios"), *SCENARIOS]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.splitlines() == [" ".join((name, name, *one.calls)) for name, one in SCENARIOS.items()]
