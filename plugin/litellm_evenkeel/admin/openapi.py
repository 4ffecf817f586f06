"""Descriptions of the admin routes for the proxy's API page: parameters, bodies and errors, as OpenAPI writes them."""

from __future__ import annotations

from typing import Any

from litellm_evenkeel.admin.control_actions import Action, parameters_of
from litellm_evenkeel.admin.parameters import DEFAULT_ACCOUNTS, MAX_ACCOUNTS, MAX_CHARACTERS
from litellm_evenkeel.rotation.inspection.account_status import AccountState
from litellm_evenkeel.rotation.model.control import MAX_REASON_CHARACTERS

Fields = dict[str, tuple[str, dict[str, Any]]]
"""Meaning and schema of each parameter, by its name."""

TEXT, NUMBER, FLAG = {"type": "string", "maxLength": MAX_CHARACTERS}, {"type": "number"}, {"type": "boolean"}
STATES = [str(state) for state in AccountState]
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is no JSON object."},
    401: {"description": "There is no key, or LiteLLM does not know it."},
    403: {"description": "The key does not belong to an admin."},
    404: {"description": "This worker knows no such account or model."},
    422: {"description": "A parameter is unknown or wrong. `detail` has `error` and `hint`."},
}
ACCOUNTS: Fields = {
    "account": ("Names of accounts, with commas.", TEXT),
    "state": ("Only accounts in this state.", {"type": "string", "enum": STATES}),
    "limit": (
        "The largest number of accounts in the answer.",
        {"type": "integer", "minimum": 1, "maximum": MAX_ACCOUNTS, "default": DEFAULT_ACCOUNTS},
    ),
}
EXPLAIN: Fields = {
    "model": ("The model, as clients write it. Required.", TEXT),
    "tokens": ("Tokens that the request needs.", {**NUMBER, "minimum": 0}),
    "session": ("The session's id.", TEXT),
    "client": ("The hash of the client's key, which owns the session.", TEXT),
    "excluded": ("Names of accounts or ids of deployments that are not picked, with commas.", TEXT),
    "stream": ("Whether the request is a stream.", FLAG),
}
CONTROL: Fields = {
    "for": ("How long it holds, such as `30m`; without end by default.", TEXT),
    "reason": ("Why, for the journal.", {**TEXT, "maxLength": MAX_REASON_CHARACTERS}),
    "value": ("The number, or `default` for that of the settings.", {"anyOf": [NUMBER, TEXT]}),
}


def in_query(fields: Fields) -> dict[str, Any]:
    """Return the description of a route with these parameters."""
    return {
        "parameters": [
            {"name": name, "in": "query", "description": about, "schema": schema}
            for name, (about, schema) in fields.items()
        ]
    }


def in_query_or_body(fields: Fields) -> dict[str, Any]:
    """Return the description of a route with these parameters, which may also be fields of a JSON body."""
    properties = {name: {"description": about, **schema} for name, (about, schema) in fields.items()}
    body = {"schema": {"type": "object", "properties": properties, "additionalProperties": False}}
    return {**in_query(fields), "requestBody": {"required": False, "content": {"application/json": body}}}


def control_fields(action: Action) -> Fields:
    """Return the parameters of an operator's action."""
    return {name: CONTROL[name] for name in parameters_of(action)}
