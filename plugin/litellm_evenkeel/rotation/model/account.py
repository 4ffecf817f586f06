"""What an account is: a credential at a provider, whatever models it serves."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping  # noqa: TC003 - settings are read by their annotations
from dataclasses import dataclass, field
from typing import Any, Self

from litellm_evenkeel.rotation.model.limits import Limits  # noqa: TC001 - read by annotation
from litellm_evenkeel.settings_schema.types import Count, Positive  # noqa: TC001 - as above
from litellm_evenkeel.support.redaction import shown_name

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


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """What is told about an account; `model_info` of its deployments may say the same."""

    weight: Positive | None = None
    """Its part of the traffic beside others of its tier; 1 where nothing is said."""
    priority: Count | None = None
    """Its tier: those of a lower number are used first, a higher one only when no lower one has room; 1 where nothing
    is said."""
    limits: Limits | None = None
    """What it may use over all its models: rpm, tpm, concurrent, windows, daily, budget."""
    models: Mapping[str, Limits] = field(default_factory=lambda: types.MappingProxyType({}))
    """What it may use of one model, by its provider's name, with the provider before it or without, or by the name of
    the model group."""
