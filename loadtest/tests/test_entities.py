"""Users and keys that a load creates in a proxy, and removes."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_load.entities import entities, key_of, user_ids
from evenkeel_load.errors import LoadFailed
from evenkeel_load.plan import make_plan
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTIONS = {"user_mode": "created", "key_mode": "per-user", "requests": 6, "admin_key": "sk-admin"}


@contextmanager
def management_api(status: int = 200) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Run a server that answers every POST request with `status`; yield its address and the requests."""
    requests: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            requests.append((self.path, json.loads(body)))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def test_users_and_keys_are_created_before_a_load_and_removed_after_it(caplog: pytest.LogCaptureFixture) -> None:
    plan = make_plan(SCENARIOS["chat"], 3, "run", OPTIONS)
    ids, keys = user_ids(plan), [key_of(plan, user) for user in range(3)]
    assert len(set(ids)) == 6
    with caplog.at_level(logging.INFO, "evenkeel"), management_api() as (host, requests):
        with entities(plan, host, lambda: requests.append(("spend is written", {}))):
            assert sorted(body["user_id"] for path, body in requests if path == "/customer/new") == sorted(ids)
            assert sorted(body["key"] for path, body in requests if path == "/key/generate") == sorted(keys)
            requests.clear()
        assert requests == [
            ("spend is written", {}),
            ("/customer/delete", {"user_ids": ids}),
            ("/key/delete", {"keys": keys}),
        ]
    messages = [record.getMessage() for record in caplog.records if record.name == "evenkeel"]
    assert messages == ["Creating 6 users and 3 keys in the proxy."]


def test_a_proxy_that_rejects_the_creation_is_an_error_with_a_hint() -> None:
    plan = make_plan(SCENARIOS["chat"], 1, "run", OPTIONS)
    rejected = pytest.raises(LoadFailed, match="rejects /customer/new with 403")
    with management_api(403) as (host, _), rejected as raised, entities(plan, host, lambda: None):
        pytest.fail("the load began")
    assert "--admin-key" in raised.value.hint


def test_nothing_is_created_for_a_load_without_own_users_and_keys(caplog: pytest.LogCaptureFixture) -> None:
    plan = make_plan(SCENARIOS["chat"], 3, "run", {"requests": 6})
    with caplog.at_level(logging.INFO, "evenkeel"), management_api() as (host, requests):
        plan_entities = entities(plan, host, lambda: None)
        with plan_entities:
            pass
    assert requests == []
    assert caplog.messages == []
