"""Rules that operators write for failures, such as those of a gateway of their own that no other rule knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.settings_schema.types import Expected, PositiveCount, PositiveDuration, SettingsModel, Text

if TYPE_CHECKING:
    from litellm_evenkeel.providers.error_body import ErrorBody

# Without it, a client could write the words of a rule into a long prompt that a provider quotes.
MAX_MESSAGE_CHARACTERS = 600


class ErrorRule(SettingsModel):
    """One rule: what it matches, and the failure that it means."""

    status: PositiveCount | None = None
    """HTTP status of the response; any by default."""
    contains: Text = ""
    """Text in the provider's message or among its codes, in any case; any by default."""
    kind: FailureKind
    """Kind of the failure."""
    scope: FailureScope = FailureScope.ACCOUNT_MODEL
    """Scope that takes no traffic because of it. There is none for the kind `client`."""
    retry_after: PositiveDuration | None = None
    """Length of the cooldown; by default what the provider states, or an estimate. `cooldown.max_rate_limit` and
    `cooldown.max_quota` still apply."""

    @property
    def applied_scope(self) -> FailureScope:
        """The scope; nothing if the request itself is at fault."""
        return FailureScope.NOTHING if self.kind is FailureKind.CLIENT else self.scope

    def matches(self, status: int | None, body: ErrorBody) -> bool:
        """Return whether the rule applies to a failure."""
        if self.status is not None and status != self.status:
            return False
        words = self.contains.strip().lower()
        message = body.message[:MAX_MESSAGE_CHARACTERS].lower()
        return words in message or any(words in code for code in body.codes)


ErrorRules = Annotated[
    tuple[ErrorRule, ...],
    Expected("a list of mappings of status, contains, kind, scope, retry_after"),
]
"""Rules as a field of settings."""
