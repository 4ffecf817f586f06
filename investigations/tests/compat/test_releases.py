"""Releases of LiteLLM, read by uv from a folder that stands in for the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from evenkeel_lab.compat.releases import between, newest

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = ["1.1.0", "1.1.1", "1.2.0rc1", "1.2.0", "1.10.0"]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for release in RELEASES:
        info = f"litellm-{release}.dist-info"
        with ZipFile(wheels / f"litellm-{release}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: litellm\nVersion: {release}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    settings = tmp_path / "uv.toml"
    settings.write_text(f'no-index = true\nfind-links = ["{wheels}"]\n')
    monkeypatch.setenv("UV_CONFIG_FILE", str(settings))
    return tmp_path / "uv.log"


async def test_the_releases_between_two_are_read_in_their_order(log: Path) -> None:
    assert await between("1.1.0", "1.10.0", log) == ["1.1.0", "1.1.1", "1.2.0", "1.10.0"]


async def test_each_line_has_its_own_newest_release(log: Path) -> None:
    assert [await newest(line, log) for line in ("1.1", "1.2", "1.3", "")] == ["1.1.1", "1.2.0", None, "1.10.0"]
