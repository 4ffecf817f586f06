"""Estimated usage of a request: from its length, and from the lengths of recent responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litellm_evenkeel.rotation.model.request import Usage
from litellm_evenkeel.support.lru_dict import LruDict

CHARACTERS_PER_TOKEN = 4
# An image, a recording or a file, of any size. Most providers count a few hundred to a thousand tokens.
TOKENS_PER_ATTACHMENT = 800
ATTACHMENT_TYPES = frozenset(
    {"image_url", "image", "input_image", "input_audio", "audio", "file", "input_file", "document"}
)
IGNORED_FIELDS = frozenset({"type", "role", "id", "tool_call_id", "tool_use_id", "call_id"})
# The length of all tools is extrapolated from this many.
SAMPLED_TOOLS = 3
# Bounds the time for a deeply nested request: no more nodes of a value are visited.
MAX_NODES = 400
# The length of a longer conversation is extrapolated from this many messages.
MAX_PARTS = 400
OUTPUT_LIMIT_FIELDS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
INSTRUCTION_FIELDS = ("system", "instructions")
NUMBER_TYPES = (int, float)
OLD_VALUE_WEIGHT = 0.9
MAX_MODEL_GROUPS = 1000


class UsageEstimator:
    """Moving averages of output tokens and of dollars per token, by model group."""

    def __init__(self, expected_output: int) -> None:
        self._expected = float(expected_output)
        self._averages: LruDict[str, tuple[float, float]] = LruDict(MAX_MODEL_GROUPS)

    def estimate(self, model_group: str, request: Mapping[str, Any], messages: object) -> Usage:
        """Return the estimated usage of a request. No content of a request makes this raise."""
        output, price = self._averages.get(model_group, (self._expected, 0.0))
        for name in OUTPUT_LIMIT_FIELDS:
            limit = request.get(name)
            if limit and isinstance(limit, NUMBER_TYPES) and limit > 0:
                output = min(output, limit)
                break
        prompt = messages if messages is not None else request.get("input", request.get("prompt"))
        characters = _characters(prompt)
        for name in INSTRUCTION_FIELDS:
            if name in request:
                characters += _characters(request[name])
        tokens = characters / CHARACTERS_PER_TOKEN + output
        tools = request.get("tools")
        if tools and isinstance(tools, list):
            sample = tools[:SAMPLED_TOOLS]
            tokens += _text_length(sample) / CHARACTERS_PER_TOKEN * len(tools) / len(sample)
        return Usage(1.0, tokens, tokens * price)

    def observe(self, model_group: str, output: float, total: float, dollars: float) -> None:
        """Update the averages of a model group with the tokens and the price of a response."""
        if total <= 0:
            return
        price = dollars / total
        known = self._averages.get(model_group)
        if known is not None:
            output = OLD_VALUE_WEIGHT * known[0] + (1 - OLD_VALUE_WEIGHT) * output
            price = OLD_VALUE_WEIGHT * known[1] + (1 - OLD_VALUE_WEIGHT) * price
        self._averages.put(model_group, (output, price))


def _characters(prompt: object) -> float:
    if isinstance(prompt, str):
        return len(prompt)
    if not isinstance(prompt, list):
        return 0
    sample = prompt if len(prompt) <= MAX_PARTS else prompt[:MAX_PARTS]
    characters = 0.0
    for part in sample:
        # Not `isinstance(part, Mapping)`: a check for an abstract class takes longer than everything else here.
        content = part.get("content") if type(part) is dict and "tool_calls" not in part else None
        if isinstance(content, str):
            characters += len(content)
        else:
            # An embedding request may contain token numbers instead of text.
            characters += CHARACTERS_PER_TOKEN if isinstance(part, int) else _text_length(part)
    return characters * len(prompt) / len(sample) if len(prompt) > len(sample) else characters


def _text_length(value: object) -> float:
    """Return the characters of all text in a value, among its first `MAX_NODES` nodes."""
    characters, nodes_left, stack = 0, MAX_NODES, [value]
    while stack and nodes_left:
        nodes_left -= 1
        node = stack.pop()
        if isinstance(node, str):
            characters += len(node)
        elif isinstance(node, Mapping):
            kind = node.get("type")
            if isinstance(kind, str) and kind in ATTACHMENT_TYPES:
                characters += TOKENS_PER_ATTACHMENT * CHARACTERS_PER_TOKEN
            else:
                stack.extend(value for name, value in node.items() if name not in IGNORED_FIELDS)
        elif isinstance(node, list):
            stack.extend(node[:MAX_PARTS])
    return characters
