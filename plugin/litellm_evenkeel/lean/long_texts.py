"""Long texts of errors, which are cut before LiteLLM searches them for secrets.

LiteLLM searches the text of each error for secrets, several times on its way to the client and to the log. It
is a slow search, and a provider decides how long its error is: one of several megabytes blocks a worker for seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from litellm.litellm_core_utils import secret_redaction

if TYPE_CHECKING:
    import re

# Texts of up to this length are not cut.
MAX_CHARACTERS = 16 * 1024
# The part of a longer text that is kept. The same length again is searched, so that no secret of up to that length is
# cut in two.
KEPT_CHARACTERS = MAX_CHARACTERS // 2


def cut_long_texts() -> None:
    """Make LiteLLM search only the beginning of long texts for secrets, and leave out the rest of them."""
    pattern = secret_redaction._SECRET_RE  # noqa: SLF001 - it has no public name
    if not isinstance(pattern, CuttingPattern):
        secret_redaction._SECRET_RE = cast("re.Pattern[str]", CuttingPattern(pattern))  # noqa: SLF001


class CuttingPattern:
    """A pattern whose substitution cuts long texts."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def sub(self, replacement: str, text: str) -> str:
        """Return `text` with `replacement` for each match; only the beginning of it if it is long."""
        if len(text) <= MAX_CHARACTERS:
            return self._pattern.sub(replacement, text)
        parts, end = [], 0
        for match in self._pattern.finditer(text, 0, MAX_CHARACTERS):
            if match.start() >= KEPT_CHARACTERS:
                break
            parts += [text[end : match.start()], replacement]
            end = match.end()
        parts.append(text[end : max(end, KEPT_CHARACTERS)])
        return f"{''.join(parts)}... ({len(text) - max(end, KEPT_CHARACTERS):,} more characters)"
