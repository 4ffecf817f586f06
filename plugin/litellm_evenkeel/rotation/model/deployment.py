"""One deployment, as the rotation sees it: an account's way to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from litellm_evenkeel.rotation.model.account import Account, AccountSettings, fingerprint
from litellm_evenkeel.rotation.model.limits import UNLIMITED, Limits
from litellm_evenkeel.settings_schema import loader
from litellm_evenkeel.support.durations import number

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")

MOST = 4096


class ParsedSettings(Generic[Value]):
    """Values that never change, by what they were read from; of the plain kinds that YAML and JSON have."""

    def __init__(self, read: Callable[[object, str], Value]) -> None:
        self._read = read
        self._known: dict[str, Value] = {}

    def parse(self, told: object, where: str) -> Value:
        """Read it, if it was not read before; what is wrong is so each time, and `where` is named then."""
        # A text tells 1 from True and from "1", which as keys would be the same or none at all.
        written = repr(told)
        found = self._known.get(written)
        if found is None:
            found = self._read(told, where)
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[written] = found
        return found


NOTHING = AccountSettings()

_TERMS = ParsedSettings(lambda told, where: loader.read(AccountSettings, told, where))
_LIMITS = ParsedSettings(Limits.of)


@dataclass(frozen=True, slots=True)
class DeploymentSpec:
    """What does not change of a deployment."""

    id: str
    account: str
    model: str
    """The provider's name of it."""
    weight: float = 1.0
    priority: int = 1
    limits: Limits = UNLIMITED
    """The account's, over all models."""
    model_limits: Limits = UNLIMITED
    """The account's for this model."""
    credential: str = ""
    """What tells the account's key from the one that it had before."""

    @classmethod
    def from_litellm(
        cls, deployment: Mapping[str, Any], accounts: Mapping[str, AccountSettings], requested: str = ""
    ) -> Self:
        """Read a deployment as LiteLLM keeps it."""
        params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        credential = fingerprint(params)
        account = Account.from_deployment(params, info, credential).name
        where = f"model_info of a deployment of {str(deployment.get('model_name'))[:60]!r}"
        own = {name: info[name] for name in ("weight", "priority", "limits") if info.get(name) is not None}
        if isinstance(info.get("models"), Mapping):
            # Of another form, it is somebody else's.
            own["models"] = info["models"]
        told = (accounts.get(account, NOTHING), _TERMS.parse(own, where))
        model = str(params.get("model") or "")
        if "*" in model:
            model = requested or model
        group = str(deployment.get("model_name"))
        model_limits = next(
            (one.models[name] for one in told if (name := named_model(one.models, model, group)) is not None), None
        )
        if model_limits is None:
            model_limits = _LIMITS.parse(info.get("model_limits") or _litellms_own(params), f"{where}, model_limits")
        return cls(
            id=str(info.get("id") or ""),
            account=account,
            model=model,
            weight=next((one.weight for one in told if one.weight is not None), 1.0),
            priority=next((one.priority for one in told if one.priority is not None), 1),
            limits=next((one.limits for one in told if one.limits is not None), UNLIMITED),
            model_limits=model_limits,
            credential=credential,
        )


def named_model(models: Mapping[str, Limits], model: str, group: str) -> str | None:
    """Return by which name a model is told of: the provider's, with its prefix or without, or that of its group."""
    for name in (model, group, model.partition("/")[2]):
        if name in models:
            return name
    return next((name for name in models if name.partition("/")[2] == model), None)


def _litellms_own(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what LiteLLM reads there too, as leniently as it does."""
    names = {"rpm": "rpm", "tpm": "tpm", "max_parallel_requests": "concurrent"}
    found = {ours: number(params.get(theirs)) for theirs, ours in names.items()}
    return {ours: int(amount) for ours, amount in found.items() if amount is not None and amount >= 1}
