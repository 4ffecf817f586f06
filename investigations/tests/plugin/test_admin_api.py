"""The admin API as OpenAPI describes it: what the description says holds, whatever is sent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import schemathesis
from admin_server import served
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

if TYPE_CHECKING:
    from collections.abc import Iterator

ADMIN = {"authorization": "Bearer admin"}
# A value of each parameter that a route accepts.
VALUES = {
    "account": "north",
    "state": "healthy",
    "limit": "1",
    "model": "chat",
    "tokens": "10",
    "session": "s",
    "client": "c",
    "excluded": "id-south",
    "stream": "true",
    "value": "2",
    "for": "1m",
    "reason": "a test",
}
EXAMPLES = 30
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def described(url: str) -> Any:
    # The live stream has no end.
    return schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path="/evenkeel/live")


@pytest.mark.parametrize("mode", GenerationMode)
def test_no_request_makes_a_route_fail(described: Any, mode: GenerationMode) -> None:
    for result in described.get_all_operations():

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(result.ok().as_strategy(generation_mode=mode))
        def holds(case: Any) -> None:
            case.call_and_validate(headers=ADMIN, checks=CHECKS)

        # A route without parameters cannot get a wrong one.
        with contextlib.suppress(*([Unsatisfiable] if mode is GenerationMode.NEGATIVE else [])):
            holds()


def test_every_described_parameter_is_accepted(url: str) -> None:
    tried = 0
    with httpx.Client(base_url=url, headers=ADMIN, trust_env=False) as sending:
        for path, operations in sending.get("/openapi.json").json()["paths"].items():
            for method, operation in operations.items():
                names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
                # What is withdrawn has no end.
                values = {name: VALUES[name] for name in names if not (name == "for" and path.endswith("/resume"))}
                if values:
                    tried += 1
                    response = sending.request(method, path.format(account="north"), params=values)
                    assert response.status_code == httpx.codes.OK, (method, path, response.text)
    # Accounts, explain twice, and five controls.
    assert tried == 8
