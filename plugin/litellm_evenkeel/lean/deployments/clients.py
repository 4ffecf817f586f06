"""Room for the clients of all deployments.

LiteLLM keeps 200 clients: one for each credential of a provider, and that of Redis. With more deployments than that, a
request often makes a new client, with a new connection, and another client has to go. If that is the one of Redis, all
connections to Redis are opened again.
"""

from __future__ import annotations

from typing import Any

import litellm

from litellm_evenkeel.lean.deployments.router_class import router_class

# A deployment may have a client of its own for streams, and some are shared by all.
CLIENTS_OF_A_DEPLOYMENT, SHARED_CLIENTS = 2, 200


def keep_clients_of_all_deployments() -> None:
    """Make LiteLLM keep the clients of all its deployments."""
    routers, clients = router_class(), litellm.in_memory_llm_clients_cache

    def make_room(router: Any) -> None:
        room = SHARED_CLIENTS + CLIENTS_OF_A_DEPLOYMENT * len(routers.deployments(router))
        clients.max_size_in_memory = max(clients.max_size_in_memory, room)

    routers.when_changed(make_room)
