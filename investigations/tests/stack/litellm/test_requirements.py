"""Requirements of a proxy, resolved by the real registry where that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.litellm.requirements import (
    ADDITIONAL,
    of_extra,
    relaxed,
    requirements,
    shortfalls,
    site_packages_of,
)
from evenkeel_lab.stack.packages.python import make_environment

if TYPE_CHECKING:
    from pathlib import Path

ASKED = [
    "Requires-Dist: httpx>=0.28",
    "Requires-Dist: uvicorn>=0.33,<1 ; extra == 'proxy'",
    'Requires-Dist: granian>=2.8 ; python_full_version >= "3.99" and extra == "proxy"',
    "Requires-Dist: litellm-proxy-extras==0.4.114.post1 ; extra == 'proxy'",
    "Requires-Dist: litellm-proxy==1.110.2 ; extra == 'proxy'",
    "Requires-Dist: prisma>=0.11 ; extra == 'extra-proxy'",
]


def put(site_packages: Path, name: str, version: str, *lines: str) -> None:
    folder = site_packages / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines])
    (folder / "METADATA").write_text(text + "\n")


def test_the_extra_is_read_from_the_metadata_of_the_wheel(tmp_path: Path) -> None:
    put(tmp_path, "litellm", "1.110.2", *ASKED)
    assert of_extra(tmp_path) == [
        "uvicorn>=0.33,<1",
        'granian>=2.8 ; python_full_version >= "3.99"',
        "litellm-proxy-extras==0.4.114.post1",
        "litellm-proxy==1.110.2",
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("litellm-proxy-extras==0.4.114.post1", "litellm-proxy-extras>=0.4,<=0.4.114.post1"),
        (
            "litellm-proxy == 1.110.2 ; python_version == '3.11'",
            "litellm-proxy>=1.110,<=1.110.2 ; python_version == '3.11'",
        ),
        ("uvicorn>=0.33,<1", "uvicorn>=0.33,<1"),
    ],
)
def test_a_pinned_version_is_relaxed_to_older_releases_of_its_series(asked: str, found: str) -> None:
    assert relaxed(asked) == found


def test_missing_packages_and_other_releases_are_listed(tmp_path: Path) -> None:
    put(tmp_path, "litellm", "1.110.2", *ASKED)
    put(tmp_path, "uvicorn", "0.54.0")
    put(tmp_path, "litellm-proxy-extras", "0.4.110")
    assert shortfalls(tmp_path) == (
        "litellm-proxy-extras 0.4.110 instead of 0.4.114.post1",
        "no litellm-proxy",
    )
    put(tmp_path, "litellm-proxy", "1.110.2")
    (tmp_path / "litellm_proxy_extras-0.4.110.dist-info" / "METADATA").unlink()
    (tmp_path / "litellm_proxy_extras-0.4.110.dist-info").rmdir()
    put(tmp_path, "litellm-proxy-extras", "0.4.114.post1")
    assert shortfalls(tmp_path) == ()


async def wanted(version: str, folder: Path) -> list[str]:
    python = await make_environment(folder / "environment", folder / "log")
    return await requirements(version, python, site_packages_of(folder / "environment"), folder / "log")


@pytest.mark.slow
async def test_an_extra_that_resolves_is_installed_as_an_extra(tmp_path: Path) -> None:
    assert await wanted("1.108.7", tmp_path) == ["litellm[proxy]==1.108.7", *ADDITIONAL]


@pytest.mark.slow
async def test_an_extra_that_does_not_resolve_is_installed_by_available_packages(tmp_path: Path) -> None:
    found = await wanted("1.110.2", tmp_path)
    assert found[0] == "litellm==1.110.2"
    assert found[-len(ADDITIONAL) :] == list(ADDITIONAL)
    assert "litellm-proxy-extras>=0.4,<=0.4.114.post1" in found
    assert "fastapi>=0.136.3,<1.0" in found
    assert not any("extra ==" in one for one in found)


@pytest.mark.slow
async def test_a_missing_release_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed):
        await wanted("1.107.0", tmp_path)
