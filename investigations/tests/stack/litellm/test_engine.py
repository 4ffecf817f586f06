"""Which query engine is chosen, and that the stand-in is what it says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stack.litellm.engine import SOURCE, VARIABLE, cached_engine, find_engine, named_engine
from evenkeel_lab.stack.packages.node import find_node, node_on_path

TESTS = Path(__file__).with_name("prisma_engine")


def program(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def test_the_engine_in_the_environment_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(program(tmp_path / "engine", "exit 0")))
    engine = named_engine()
    assert engine is not None
    assert (engine.kind, engine.path) == ("named", tmp_path / "engine")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(WrongUse, match="cannot be executed"):
        named_engine()


def test_a_native_engine_is_used_only_if_it_runs(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "prisma-python" / "binaries" / "5.4.2" / "abc"
    assert cached_engine(tmp_path) is None
    program(folder / "prisma-query-engine-linux-other", "exit 1")
    assert cached_engine(tmp_path) is None
    good = program(folder / "prisma-query-engine-debian", "exit 0")
    engine = cached_engine(tmp_path)
    assert engine is not None
    assert (engine.kind, engine.path) == ("native", good)


def test_a_node_that_is_too_old_is_not_used(tmp_path: Path) -> None:
    program(tmp_path / "npm", "exit 0")
    program(tmp_path / "node", f"echo 16.20.0 {tmp_path}/node")
    assert node_on_path(str(tmp_path)) is None
    program(tmp_path / "node", f"echo 18.0.0 {tmp_path}/node")
    node = node_on_path(str(tmp_path))
    assert node is not None
    assert node.version == "18.0.0"
    (tmp_path / "npm").unlink()
    assert node_on_path(str(tmp_path)) is None


def test_the_shim_of_a_version_manager_is_resolved(tmp_path: Path) -> None:
    program(tmp_path / "real" / "npm", "exit 0")
    program(tmp_path / "shims" / "npm", "exit 0")
    program(tmp_path / "shims" / "node", f"echo 20.1.0 {tmp_path}/real/node")
    node = node_on_path(str(tmp_path / "shims"))
    assert node is not None
    assert node.bin == tmp_path / "real"


async def test_without_node_on_path_pypi_supplies_node_and_a_working_npm(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/no/node/here")
    node = await find_node(tmp_path / "log")
    assert (node.origin, node.bin.is_relative_to(own_cache)) == ("PyPI", True)
    for name in ("node", "npm"):
        answer = subprocess.run([node.bin / name, "--version"], capture_output=True, text=True, check=True)
        assert int(answer.stdout.lstrip("v").split(".")[0]) >= (18 if name == "node" else 9)


async def test_the_stand_in_runs_and_passes_its_own_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    node = await find_node(tmp_path / "log")
    engine = await find_engine(node, tmp_path / "log")
    assert engine.kind == "stand-in"
    answer = subprocess.run([engine.path, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("query-engine ")
    # The tests import `../prisma_engine/`, which is here the installed one, with its npm packages.
    shutil.copytree(TESTS, tmp_path / "tests")
    (tmp_path / "prisma_engine").symlink_to(engine.path.parent)
    tests = sorted(map(str, (tmp_path / "tests").glob("*.test.mjs")))
    assert tests
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    suite = subprocess.run([node.bin / "node", "--test", *tests], capture_output=True, text=True, check=False)
    assert suite.returncode == 0, suite.stdout[-3000:]


def test_the_npm_lock_contains_hashes_and_no_registry_address() -> None:
    text = (SOURCE / "package-lock.json").read_text()
    assert text.count('"integrity"') == text.count('"node_modules/')
    assert "://" not in text.replace("https://github.com", "").replace("https://opencollective.com", "")
