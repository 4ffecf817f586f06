"""How much a request will need, before anybody knows: from its length, and from how long answers were lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from litellm_evenkeel.rotation.model.request import Usage

CHARACTERS_A_TOKEN = 4
# An image or a recording, whatever its size: most providers count some hundreds to a thousand tokens.
TOKENS_A_PICTURE = 800
PICTURES = frozenset({"image_url", "image", "input_image", "input_audio", "audio", "file", "input_file", "document"})
LABELS = frozenset({"type", "role", "id", "tool_call_id", "tool_use_id", "call_id"})
# What so many tools are like, all of them are.
SOME_TOOLS = 3
# However deep a request is, no more of it is looked at.
MOST_NODES = 400
# Of a longer conversation, this many messages tell how long the others are.
MOST_PARTS = 400
MAXIMA = ("max_completion_tokens", "max_tokens", "max_output_tokens")
AROUND = ("system", "instructions")
NUMBERS = (int, float)
MEMORY = 0.9
MAX_GROUPS = 1000


class UsageEstimator:
    """What answers of each model group were like."""

    def __init__(self, expected_output: int) -> None:
        self._expected = float(expected_output)
        self._groups: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def estimate(self, group: str, request: Mapping[str, Any], messages: object) -> Usage:
        """Return what a request is thought to need; whatever it is made of, this does not fail."""
        output, price = self._groups.get(group, (self._expected, 0.0))
        for name in MAXIMA:
            most = request.get(name)
            if most and isinstance(most, NUMBERS) and most > 0:
                output = min(output, most)
                break
        asked = messages if messages is not None else request.get("input", request.get("prompt"))
        characters = _characters(asked)
        for name in AROUND:
            if name in request:
                characters += _characters(request[name])
        tokens = characters / CHARACTERS_A_TOKEN + output
        tools = request.get("tools")
        if tools and isinstance(tools, list):
            some = tools[:SOME_TOOLS]
            tokens += _walked(some) / CHARACTERS_A_TOKEN * len(tools) / len(some)
        return Usage(1.0, tokens, tokens * price)

    def observe(self, group: str, output: float, total: float, dollars: float) -> None:
        """Know of an answer."""
        if total <= 0:
            return
        price = dollars / total
        known = self._groups.get(group)
        if known is not None:
            output = MEMORY * known[0] + (1 - MEMORY) * output
            price = MEMORY * known[1] + (1 - MEMORY) * price
        self._groups[group] = output, price
        self._groups.move_to_end(group)
        if len(self._groups) > MAX_GROUPS:
            self._groups.popitem(last=False)


def _characters(asked: object) -> float:
    if isinstance(asked, str):
        return len(asked)
    if not isinstance(asked, list):
        return 0
    some = asked if len(asked) <= MOST_PARTS else asked[:MOST_PARTS]
    found = 0.0
    for part in some:
        # Nearly all of them are dictionaries, and asking for an abstract class takes longer than all the rest.
        content = part.get("content") if type(part) is dict and "tool_calls" not in part else None
        found += len(content) if isinstance(content, str) else _of_part(part)
    return found * len(asked) / len(some) if len(asked) > len(some) else found


def _of_part(part: object) -> float:
    if isinstance(part, int):
        # Embeddings may be asked for by tokens.
        return CHARACTERS_A_TOKEN
    return _walked(part)


def _walked(value: object) -> float:
    """Return how much text there is anywhere in a value, as far as a bounded look tells."""
    found, left, stack = 0, MOST_NODES, [value]
    while stack and left:
        left -= 1
        one = stack.pop()
        if isinstance(one, str):
            found += len(one)
        elif isinstance(one, Mapping):
            kind = one.get("type")
            if isinstance(kind, str) and kind in PICTURES:
                found += TOKENS_A_PICTURE * CHARACTERS_A_TOKEN
            else:
                stack.extend(value for name, value in one.items() if name not in LABELS)
        elif isinstance(one, list):
            stack.extend(one[:MOST_PARTS])
    return found
