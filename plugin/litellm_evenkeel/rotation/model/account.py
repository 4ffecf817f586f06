"""Accounts: a credential at a provider, for any number of models, and its settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field

from litellm_evenkeel.rotation.model.limits import LimitsSetting  # noqa: TC001 - read by annotation
from litellm_evenkeel.settings_schema.types import (
    Count,
    PositiveNumber,
    SettingsModel,
    Share,
    frozen_mapping,
    parse_json,
)
from litellm_evenkeel.support.redaction import shown_name

HASH_DIGITS = 12
# Prefix of the names of accounts without a name of their own.
FINGERPRINT_PREFIX = "acct-"
IDENTITY_FIELDS = ("api_base", "base_url", "api_key", "organization", "litellm_credential_name")
# Fields that identify a credential without an API key.
KEYLESS_IDENTITY_FIELDS = (
    *("aws_access_key_id", "aws_profile_name", "aws_role_name", "vertex_project", "vertex_credentials"),
    *("azure_ad_token", "azure_username", "tenant_id", "client_id", "watsonx_project_id", "project_id"),
)


@dataclass(frozen=True, slots=True)
class Account:
    """Identity of an account: the operator's name for it, or an irreversible fingerprint of its credential."""

    name: str

    @classmethod
    def from_deployment(
        cls, litellm_params: Mapping[str, Any], model_info: Mapping[str, Any] | None = None, credential: str = ""
    ) -> Self:
        """Return the account of a deployment: `model_info.account`, else the fingerprint of its credential.

        `credential` is that fingerprint if the caller knows it already. A name that looks like an API key is replaced
        by a hash, as account names are shown.
        """
        name = (model_info or {}).get("account")
        return cls(
            shown_name(str(name)) if name else f"{FINGERPRINT_PREFIX}{credential or fingerprint(litellm_params)}"
        )


def fingerprint(litellm_params: Mapping[str, Any]) -> str:
    """Return an irreversible hash that identifies a credential."""
    fields = IDENTITY_FIELDS if litellm_params.get("api_key") else (*IDENTITY_FIELDS, *KEYLESS_IDENTITY_FIELDS)
    parts = [str(litellm_params.get(field) or "") for field in fields]
    if not litellm_params.get("api_key"):
        # Without a key, deployments of two providers never share an account.
        parts.append(
            str(litellm_params.get("custom_llm_provider") or str(litellm_params.get("model") or "").partition("/")[0])
        )
    # With the lengths, no two different credentials are joined to the same text.
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:HASH_DIGITS]


def hide_key_like_names(raw: object) -> object:
    """Return a mapping whose names are safe to show: an account may be named by its API key by mistake."""
    raw = parse_json(raw)
    return {shown_name(str(name)): value for name, value in raw.items()} if isinstance(raw, Mapping) else raw


class AccountSettings(SettingsModel):
    """Settings of an account. `model_info` of its deployments may contain the same fields."""

    weight: PositiveNumber | None = None
    """Share of the traffic relative to other accounts of the same priority; 1 by default."""
    priority: Count | None = None
    """Accounts with a lower number are used first, those with a higher one only while no lower one has capacity; 1 by
    default."""
    keep: Share | None = None
    """Share of each limit that is never used, whether it is set here or stated by the provider; nothing by default."""
    limits: LimitsSetting | None = None
    """Limits over all models: rpm, tpm, concurrent, windows, daily, budget."""
    models: Annotated[
        Mapping[str, LimitsSetting], BeforeValidator(hide_key_like_names), AfterValidator(frozen_mapping)
    ] = Field(default_factory=dict)
    """Limits of single models, by the provider's model name, with or without the provider's prefix, or by the name of
    the model group."""
