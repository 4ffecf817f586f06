"""Names in the settings that nothing bears, and names that are none: what would do nothing, and nobody would notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.model.account import FINGERPRINTED, Account
from litellm_evenkeel.rotation.model.deployment import named_model
from litellm_evenkeel.settings_schema.loader import hint
from litellm_evenkeel.support.redaction import looks_like_key, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.model.account import AccountSettings


@dataclass(frozen=True, slots=True)
class SettingsWarning:
    """One of them."""

    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} {self.hint}"


def settings_warnings(
    accounts: Mapping[str, AccountSettings], deployments: Sequence[Mapping[str, Any]], path: str
) -> Iterator[SettingsWarning]:
    """Yield what is doubtful of the settings of accounts, beside these deployments; none of a key is shown."""
    models: dict[str, set[tuple[str, str]]] = {}
    for deployment in deployments:
        params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        account, group = Account.from_deployment(params, info).name, str(deployment.get("model_name"))
        models.setdefault(account, set()).add((str(params.get("model") or ""), group))
        if looks_like_key(str(info.get("account") or "")):
            place = f"model_info.account of a deployment of {group[:60]!r}"
            yield SettingsWarning(
                place, f"this looks like a key, so the account is called {account}.", "Give it a name."
            )
    for account, settings in accounts.items():
        here = f"{path}.{shown_name(account)}"
        if account not in models:
            # Of one that is known by its key alone, nobody can tell here whose key will come.
            if models and not account.startswith(FINGERPRINTED):
                yield SettingsWarning(
                    here, "no deployment in the configuration has this account.", hint(account, sorted(models))
                )
            continue
        for name, limits in settings.models.items():
            # Of a wildcard, any model may be asked for.
            if not any("*" in model or named_model({name: limits}, model, group) for model, group in models[account]):
                what = "no deployment of this account in the configuration has such a model."
                there = {one for model, group in models[account] for one in (model.rpartition("/")[2], group)}
                yield SettingsWarning(f"{here}.models.{name}", what, hint(name, sorted(there)))
