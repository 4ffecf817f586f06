"""Prints as JSON what LiteLLM's catalog finds in requests, once for each set of callbacks.

A program for the Python of a LiteLLM that has `rust_bridge.detectors` (1.109 and later), with the plugin beside it. The
sets are: none, each of the plugin's callbacks by itself, and `hooked`, whose hooks keep requests on the Python path.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from contextlib import redirect_stdout
from types import ModuleType, SimpleNamespace
from typing import Any

# Or it asks the internet for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

SERVER = "litellm.proxy.proxy_server"
MODEL = "anthropic/claude-sonnet-4-5"
REQUEST = {"model": MODEL, "messages": [{"role": "user", "content": "ahoy"}], "max_tokens": 8, "api_key": "sk-x"}
REQUESTS = {
    "messages": REQUEST,
    "chat_completions": REQUEST,
    "responses": {"model": "openai/gpt-4o-mini", "input": "ahoy", "api_key": "sk-x"},
}
HOOKS = ("async_pre_request_hook", "async_should_run_agentic_loop", "async_pre_call_deployment_hook")
SECTIONS: dict[str, dict[str, Any]] = {
    "rotation": {},
    "rotation with header": {"rotation": {"account_header": True}},
    "prometheus": {"budgets": {"enabled": False}},
    "prometheus with budgets": {},
    "journal": {"journal": {"path": "journal.sqlite"}},
    "gc_freeze": {},
    "lean": {},
}


def made(name: str) -> Any:
    """Return a callback, made as in a proxy."""
    server: Any = ModuleType(SERVER)
    server.app = importlib.import_module("fastapi").FastAPI()
    server.proxy_config = SimpleNamespace(config={"model_list": [], "evenkeel": SECTIONS[name]})
    sys.modules[SERVER] = server
    kind = name.partition(" ")[0]
    try:
        return getattr(importlib.import_module(f"litellm_evenkeel.wiring.{kind}"), kind)()
    finally:
        del sys.modules[SERVER]


def hooked() -> Any:
    """Return a callback with all hooks that are features in the catalog."""
    base = importlib.import_module("litellm.integrations.custom_logger").CustomLogger
    return type("Hooked", (base,), dict.fromkeys(HOOKS, lambda *_, **__: None))()


def seen(callbacks: list[Any]) -> dict[str, Any]:
    """Return the features that LiteLLM detects in a request of each route, and the rollout that follows."""
    importlib.import_module("litellm").callbacks = callbacks
    catalog = importlib.import_module("litellm.rust_bridge.catalog")
    dispatch = importlib.import_module("litellm.rust_bridge.dispatch").PublicDispatch
    found = {}
    for route, request in REQUESTS.items():
        module = importlib.import_module(f"litellm.{route}.dispatch")
        for name, one in vars(module).items():
            if isinstance(one, dispatch):
                context = one.context(one.request((), request))
                told = sorted(feature.value for feature in context.features)
                found[f"{route} {name.strip('_').lower()}"] = {
                    "features": told,
                    "rollout": catalog.rollout(context).name,
                }
    return found


def main() -> None:
    """Print the result of each set."""
    logging.disable(logging.ERROR)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with redirect_stdout(sys.stderr):
        told = {"none": seen([]), "hooked": seen([hooked()])}
        for name in SECTIONS:
            try:
                told[name] = seen([made(name)])
            except Exception as error:  # noqa: BLE001 - what is wrong with one is not to hide the others
                told[name] = {"error": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(told))
    answers.flush()
    # Some callbacks have threads, and one that waits for a database.
    os._exit(0)


if __name__ == "__main__":
    main()
