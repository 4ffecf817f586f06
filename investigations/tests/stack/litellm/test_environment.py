"""Which LiteLLM may be installed, and how the plugin gets beside it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import UnknownVersion
from evenkeel_lab.stack.litellm.environment import (
    DEFAULT_VERSION,
    LOCKS,
    locked_versions,
    plugin_folder,
    require_allowed,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8", "1.82.7.post1"])
def test_compromised_releases_are_refused(version: str) -> None:
    with pytest.raises(UnknownVersion, match="compromised"):
        require_allowed(version)


NO_VERSIONS = ["", "latest", "1.2", "1.106.2; rm -rf /", "../1.106.2", "-1.0.0"]
# Other spellings of 1.82.7 and 1.82.8, which an installer would take.
NO_VERSIONS += ["1.82.7.0", "1.082.7", "v1.82.7", "0!1.82.8", "1.82.7+local"]


@pytest.mark.parametrize("version", NO_VERSIONS)
def test_malformed_versions_are_refused(version: str) -> None:
    with pytest.raises(UnknownVersion, match="is not a LiteLLM version"):
        require_allowed(version)


@pytest.mark.parametrize("version", ["1.106.2", "1.81.8", "1.107.0rc1", "1.80.0.dev3"])
def test_ordinary_versions_are_allowed(version: str) -> None:
    require_allowed(version)


def test_the_versions_of_investigations_have_locks() -> None:
    assert locked_versions() == ["1.81.8", "1.81.9", "1.106.2", "1.108.7", "1.110.2"]
    assert DEFAULT_VERSION in locked_versions()


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.txt")), ids=lambda path: path.stem)
def test_locks_contain_hashes_and_no_index_address(lock: Path) -> None:
    text = lock.read_text()
    pinned = re.findall(r"^[\w.\-\[\]]+==", text, re.MULTILINE)
    hashed = re.findall(r"^[\w.\-\[\]]+==.*\\\n +--hash=sha256:", text, re.MULTILINE)
    assert len(pinned) == len(hashed) > 0
    assert "://" not in text
    assert "index-url" not in text


async def test_the_plugin_folder_has_the_content_of_the_wheel(own_cache: Path) -> None:
    folder = await plugin_folder()
    assert folder.is_relative_to(own_cache)
    assert folder == await plugin_folder()
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "import importlib.metadata, litellm_evenkeel\n"
        "print(litellm_evenkeel.__file__, importlib.metadata.version('litellm-evenkeel'))"
    )
    answer = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith(str(folder))
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {
        "litellm_evenkeel",
        f"litellm_evenkeel-{answer.stdout.split()[1]}.dist-info",
    }
