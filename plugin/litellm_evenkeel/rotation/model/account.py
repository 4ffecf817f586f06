"""What an account is: a credential at a provider, whatever models it serves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from litellm_evenkeel.support.redaction import shown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

HASH_LENGTH = 12
# What the names begin with that stand for a credential.
FINGERPRINTED = "acct-"
KEYS = ("api_base", "base_url", "api_key", "organization", "litellm_credential_name")
# What stands for a key where there is none.
WITHOUT_KEY = (
    *("aws_access_key_id", "aws_profile_name", "aws_role_name", "vertex_project", "vertex_credentials"),
    *("azure_ad_token", "azure_username", "tenant_id", "client_id", "watsonx_project_id", "project_id"),
)


@dataclass(frozen=True, slots=True)
class Account:
    """The identity of an account: a name the operator gave, or a fingerprint that cannot be turned back."""

    name: str

    @classmethod
    def from_deployment(
        cls, litellm_params: Mapping[str, Any], model_info: Mapping[str, Any] | None = None, credential: str = ""
    ) -> Self:
        """Tell whose account a deployment uses: `model_info.account`, else a hash of api_base and api_key.

        Who knows its credential's fingerprint hands it in. A name that looks like a key is not shown: what stands for
        it is.
        """
        named = (model_info or {}).get("account")
        return cls(shown_name(str(named)) if named else f"{FINGERPRINTED}{credential or fingerprint(litellm_params)}")


def fingerprint(litellm_params: Mapping[str, Any]) -> str:
    """Return what tells one credential from another, and cannot be turned back."""
    fields = KEYS if litellm_params.get("api_key") else (*KEYS, *WITHOUT_KEY)
    parts = [str(litellm_params.get(field) or "") for field in fields]
    if not litellm_params.get("api_key"):
        # Without a key, two providers are two accounts at least.
        parts.append(
            str(litellm_params.get("custom_llm_provider") or str(litellm_params.get("model") or "").partition("/")[0])
        )
    # Lengths go in, so that no two different credentials can be joined to the same text.
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]
