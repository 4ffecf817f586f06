"""The mock as a part of the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.mock import mock

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_mock_answers_with_the_times_of_receiving_and_sending(tmp_path: Path) -> None:
    async with (
        stack_folder() as folder,
        mock(folder, tmp_path) as part,
        httpx.AsyncClient(base_url=part.url, headers={"authorization": "Bearer k"}) as client,
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "ahoy"}]}
        answer = await client.post("/v1/chat/completions", json=body)
        assert answer.json()["choices"][0]["finish_reason"] == "stop"
        assert int(answer.headers["x-mock-received-ns"]) <= int(answer.headers["x-mock-sent-ns"])
        refused = await client.post("/v1/chat/completions", content=b"{")
        assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
        streamed = await client.post("/v1/chat/completions", json=body | {"stream": True})
        assert streamed.text.endswith("data: [DONE]\n\n")
        assert (await client.get("/v1/models")).json()["data"]
        assert (await client.get("/nowhere")).status_code == 404


async def test_files_of_the_mock_are_in_the_folder_of_the_stack(tmp_path: Path) -> None:
    async with stack_folder() as folder, mock(folder, tmp_path):
        assert [found.name for found in folder.glob("evenkeel-mock-*/*")] == ["board"]
