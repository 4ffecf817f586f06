"""What an account is: a credential at a provider, whatever models it serves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

HASH_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Account:
    """The identity of an account: a name the operator gave, or a fingerprint that cannot be turned back."""

    name: str

    @classmethod
    def of(cls, litellm_params: Mapping[str, Any], model_info: Mapping[str, Any] | None = None) -> Self:
        """Tell whose account a deployment uses: `model_info.account`, else a hash of api_base and api_key."""
        named = (model_info or {}).get("account")
        return cls(str(named) if named else f"acct-{fingerprint(litellm_params)}")


def fingerprint(litellm_params: Mapping[str, Any]) -> str:
    """Return what tells one credential from another, and cannot be turned back."""
    parts = (str(litellm_params.get(field) or "") for field in ("api_base", "api_key"))
    # Lengths go in, so that no two different pairs can be joined to the same text.
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]
