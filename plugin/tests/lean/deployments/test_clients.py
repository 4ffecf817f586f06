"""Room for the clients of all deployments of a real router."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.clients import (
    CLIENTS_OF_A_DEPLOYMENT,
    SHARED_CLIENTS,
    keep_clients_of_all_deployments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
SOME = 300


def test_there_is_room_for_the_clients_of_all_deployments(
    router: Callable[..., Any], deployment: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = litellm.in_memory_llm_clients_cache
    monkeypatch.setattr(clients, "max_size_in_memory", clients.max_size_in_memory)
    keep_clients_of_all_deployments()
    routing = router(*(deployment(str(number)) for number in range(SOME)))
    assert clients.max_size_in_memory == SHARED_CLIENTS + SOME * CLIENTS_OF_A_DEPLOYMENT
    routing.add_deployment(Deployment(**deployment("another")))
    assert clients.max_size_in_memory == SHARED_CLIENTS + (SOME + 1) * CLIENTS_OF_A_DEPLOYMENT
    routing.set_model_list([deployment("alone")])
    assert clients.max_size_in_memory > SOME
