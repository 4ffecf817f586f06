"""Every committed investigation can still be run."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.investigation_spec import known, read
from evenkeel_lab.investigation_spec.arm import Arm, Kind, Patch
from evenkeel_lab.runner.targets import subject_of
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stack.probes.patches_of_proxy import PATCHES
from evenkeel_lab.stack.stack import Options, stack
from litellm_evenkeel.settings import SECTION, settings

if TYPE_CHECKING:
    from evenkeel_lab.stack.litellm.environment import Subject

ARMS = {
    f"{name}: {arm}": described
    for name, folder in known().items()
    if (folder / "investigation.toml").exists()
    for arm, described in read(folder).arms.items()
}


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS)
def test_the_settings_of_an_arm_are_understood(arm: Arm) -> None:
    settings(arm.settings.get(SECTION), {})
    assert arm.patch in {Patch.NONE, *PATCHES}
    if arm.function:
        module, _, name = arm.function.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def proxies() -> dict[str, list[Subject]]:
    """Return the proxies of all arms by LiteLLM version; those that only differ in their size are one."""
    distinct: dict[str, Subject] = {}
    for arm in ARMS.values():
        if arm.subject is Kind.PROXY:
            subject = replace(subject_of(arm), workers=1)
            distinct.setdefault(repr(replace(subject, accounts=subject.accounts[:1])), subject)
    by_version: dict[str, list[Subject]] = {}
    for subject in distinct.values():
        by_version.setdefault(subject.litellm, []).append(subject)
    return by_version


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("subjects", proxies().values(), ids=proxies())
async def test_every_arm_boots_and_answers(subjects: list[Subject]) -> None:
    async with stack(Options()) as ground:
        for subject in subjects:
            async with ground.proxy(subject) as proxy:
                headers = {"Authorization": f"Bearer {proxy.master_key}"}
                group = subject.accounts[0].group if subject.accounts else ""
                model = group.replace("*", "chat") or MODEL
                body = {"model": model, "messages": [{"role": "user", "content": "ahoy"}]}
                async with client(seconds=60, base_url=proxy.url, headers=headers) as asking:
                    response = await asking.post("/v1/chat/completions", json=body)
                assert response.status_code == 200, (subject, response.text)
