"""One deployment, as the rotation sees it: an account's way to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.account import Account
from litellm_evenkeel.rotation.durations import number
from litellm_evenkeel.rotation.limits import FREE, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_WEIGHT = 1_000_000.0


@dataclass(frozen=True, slots=True)
class AccountTerms:
    """What an operator says of one account in the settings; it goes before what its deployments say."""

    weight: float | None = None
    """Its share of the traffic beside others of its tier."""
    priority: int | None = None
    """Its tier: 1 is used first, 2 when no account of 1 is free."""
    limits: Limits | None = None
    """What it may use, over all models."""
    models: Mapping[str, Limits] = field(default_factory=dict)
    """What it may use of one model, by the model's name."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What does not change of a deployment."""

    id: str
    account: str
    model: str
    """The provider's name of it."""
    weight: float = 1.0
    priority: int = 1
    limits: Limits = FREE
    """The account's, over all models."""
    model_limits: Limits = FREE
    """The account's for this model."""

    @classmethod
    def of(cls, deployment: Mapping[str, Any], accounts: Mapping[str, AccountTerms], requested: str = "") -> Self:
        """Read a deployment as LiteLLM keeps it."""
        params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        account = Account.of(params, info).name
        told = accounts.get(account, AccountTerms())
        where = f"model_info of a deployment of {str(deployment.get('model_name'))[:60]!r}"
        model = str(params.get("model") or "")
        if "*" in model:
            model = requested or model
        model_limits = told.models.get(model) or told.models.get(str(deployment.get("model_name")))
        if model_limits is None:
            model_limits = Limits.of(info.get("model_limits") or _litellms_own(params), f"{where}, model_limits")
        return cls(
            id=str(info.get("id") or ""),
            account=account,
            model=model,
            weight=_weight(info.get("weight"), where) if told.weight is None else told.weight,
            priority=_priority(info.get("priority"), where) if told.priority is None else told.priority,
            limits=Limits.of(info.get("limits"), f"{where}, limits") if told.limits is None else told.limits,
            model_limits=model_limits,
        )


def _litellms_own(params: Mapping[str, Any]) -> dict[str, Any]:
    names = {"rpm": "rpm", "tpm": "tpm", "max_parallel_requests": "concurrent"}
    return {ours: params[theirs] for theirs, ours in names.items() if params.get(theirs)}


def _weight(told: object, where: str) -> float:
    if told is None:
        return 1.0
    found = None if isinstance(told, str) else number(told)
    if not found or found > MOST_WEIGHT:
        raise SettingsError(f"{where}, weight: {str(told)[:40]!r} is no weight. Write a number above 0, such as 2.")
    return found


def _priority(told: object, where: str) -> int:
    if told is None:
        return 1
    if not isinstance(told, int) or isinstance(told, bool) or told < 1:
        raise SettingsError(f"{where}, priority: {str(told)[:40]!r} is no tier. Write 1 for the first, 2 for the next.")
    return told
