"""Warnings about accounts and models in the settings that no deployment has, as they would silently do nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.model.account import FINGERPRINT_PREFIX, Account
from litellm_evenkeel.rotation.model.deployment import named_model
from litellm_evenkeel.settings_schema.loader import nearest
from litellm_evenkeel.support.redaction import looks_like_key, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.model.account import AccountSettings


@dataclass(frozen=True, slots=True)
class SettingsWarning:
    """Warning about one setting."""

    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} {self.hint}"


def settings_warnings(
    accounts: Mapping[str, AccountSettings], deployments: Sequence[Mapping[str, Any]], path: str
) -> Iterator[SettingsWarning]:
    """Yield warnings about the settings of accounts, given the deployments. No part of an API key is shown."""
    models: dict[str, set[tuple[str, str]]] = {}
    for deployment in deployments:
        params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        account, model_group = Account.from_deployment(params, info).name, str(deployment.get("model_name"))
        models.setdefault(account, set()).add((str(params.get("model") or ""), model_group))
        if looks_like_key(str(info.get("account") or "")):
            location = f"model_info.account of a deployment of {model_group[:60]!r}"
            yield SettingsWarning(
                location, f"this looks like a key, so the account is called {account}.", "Hint: give it a name."
            )
    for account, settings in accounts.items():
        account_path = f"{path}.{shown_name(account)}"
        if account not in models:
            # An account without a name is known by its key's fingerprint; its key may be added later.
            if models and not account.startswith(FINGERPRINT_PREFIX):
                yield SettingsWarning(
                    account_path,
                    "no deployment in the configuration has this account.",
                    nearest(account, sorted(models)),
                )
            continue
        for name, limits in settings.models.items():
            # A wildcard deployment serves any model.
            served = models[account]
            if any("*" in model or named_model({name: limits}, model, model_group) for model, model_group in served):
                continue
            known = {label for model, model_group in served for label in (model.rpartition("/")[2], model_group)}
            message = "no deployment of this account in the configuration has such a model."
            yield SettingsWarning(f"{account_path}.models.{name}", message, nearest(name, sorted(known)))
