"""Deployments in the rotation: an account's way to a model, as read from LiteLLM's `model_list`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from litellm_evenkeel.rotation.model.account import Account, AccountSettings, fingerprint
from litellm_evenkeel.rotation.model.limits import UNLIMITED, Limits
from litellm_evenkeel.settings_schema import loader
from litellm_evenkeel.support.durations import number
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")

MAX_PARSED = 4096


class ParsedSettings(Generic[Value]):
    """Cache of immutable settings, by the plain YAML or JSON value that they were parsed from."""

    def __init__(self, parse: Callable[[object, str], Value]) -> None:
        self._parse = parse
        self._parsed = LruDict[str, Value](MAX_PARSED)

    def parse(self, raw: object, path: str) -> Value:
        """Return the parsed form of `raw`, cached. Errors are not cached; they name `path`."""
        # The text distinguishes 1 from True, which are equal as keys, and exists for unhashable values too.
        text = repr(raw)
        value = self._parsed.get(text)
        if value is None:
            value = self._parse(raw, path)
            self._parsed.put(text, value)
        return value


NO_SETTINGS = AccountSettings()

_ACCOUNT_SETTINGS = ParsedSettings(lambda raw, path: loader.load(AccountSettings, raw, path))
_LIMITS = ParsedSettings(Limits.of)


@dataclass(frozen=True, slots=True)
class DeploymentSpec:
    """Immutable properties of a deployment."""

    id: str
    account: str
    model: str
    """Model name of the provider, with its prefix."""
    weight: float = 1.0
    priority: int = 1
    limits: Limits = UNLIMITED
    """Limits of the account over all models."""
    model_limits: Limits = UNLIMITED
    """Limits of the account for this model."""
    credential: str = ""
    """Fingerprint of the credential; it changes when the account gets a new key."""
    keep: float = 0.0
    """Share of each limit that is never used. `limits` and `model_limits` leave it out already."""

    @classmethod
    def from_litellm(
        cls, deployment: Mapping[str, Any], accounts: Mapping[str, AccountSettings], requested: str = ""
    ) -> Self:
        """Return the spec of a deployment of LiteLLM's router.

        `requested` is the model that a request names, for deployments with a wildcard.
        """
        params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        credential = fingerprint(params)
        account = Account.from_deployment(params, info, credential).name
        model_group = str(deployment.get("model_name"))
        path = f"model_info of a deployment of {model_group[:60]!r}"
        own = {name: info[name] for name in ("weight", "priority", "keep", "limits") if info.get(name) is not None}
        if isinstance(info.get("models"), Mapping):
            # Anything but a mapping belongs to another plugin or tool.
            own["models"] = info["models"]
        sources = (accounts.get(account, NO_SETTINGS), _ACCOUNT_SETTINGS.parse(own, path))
        model = str(params.get("model") or "")
        if "*" in model:
            model = requested or model
        names = [(each.models, named_model(each.models, model, model_group)) for each in sources]
        model_limits = next((models[name] for models, name in names if name is not None), None)
        if model_limits is None:
            model_limits = _LIMITS.parse(info.get("model_limits") or _litellm_limits(params), f"{path}, model_limits")
        keep = next((each.keep for each in sources if each.keep is not None), 0.0)
        limits = next((each.limits for each in sources if each.limits is not None), UNLIMITED)
        return cls(
            id=str(info.get("id") or ""),
            account=account,
            model=model,
            weight=next((each.weight for each in sources if each.weight is not None), 1.0),
            priority=next((each.priority for each in sources if each.priority is not None), 1),
            limits=limits.keeping(keep),
            model_limits=model_limits.keeping(keep),
            credential=credential,
            keep=keep,
        )


def named_model(models: Mapping[str, Limits], model: str, model_group: str) -> str | None:
    """Return the key of `model`, with or without its prefix, or of `model_group`; `None` if `models` has none."""
    for name in (model, model_group, model.partition("/")[2]):
        if name in models:
            return name
    return next((name for name in models if name.partition("/")[2] == model), None)


def _litellm_limits(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits in LiteLLM's own fields, parsed as leniently as LiteLLM does."""
    names = {"rpm": "rpm", "tpm": "tpm", "max_parallel_requests": "concurrent"}
    amounts = {ours: number(params.get(theirs)) for theirs, ours in names.items()}
    return {ours: int(amount) for ours, amount in amounts.items() if amount is not None and amount >= 1}
