"""Whether every account can be tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel_lab.doctor.config_file import Key, ProxyConfig, resolve_value
from evenkeel_lab.doctor.finding import Finding, error, ok, warning
from litellm_evenkeel import Account

if TYPE_CHECKING:
    from collections.abc import Iterator

# `Router.num_retries` falls back to `openai.DEFAULT_MAX_RETRIES`.
DEFAULT_RETRIES = 2
# Policies name exceptions; these are the ones that another account cures.
POLICY_FIELDS = (
    "RateLimitErrorRetries",
    "AuthenticationErrorRetries",
    "TimeoutErrorRetries",
    "InternalServerErrorRetries",
    "ServiceUnavailableErrorRetries",
    "DefaultRetries",
)
GROUPS_NAMED = 3


@dataclass(frozen=True)
class Deployment:
    """One usable item of `model_list`."""

    group: str
    index: int
    params: Mapping[str, Any]
    info: Mapping[str, Any]


def deployments(config: ProxyConfig) -> list[Deployment]:
    """Return what the router would choose from."""
    models = config.values.get("model_list")
    findings = []
    for index, model in enumerate(models if isinstance(models, list) else []):
        params = model.get("litellm_params") if isinstance(model, Mapping) else None
        if isinstance(params, Mapping):
            info = model.get("model_info")
            info = info if isinstance(info, Mapping) else {}
            findings.append(Deployment(str(model.get("model_name", "")), index, params, info))
    return findings


def accounts(config: ProxyConfig, environment: Mapping[str, str]) -> dict[str, set[Account]]:
    """Return the distinct accounts of each model group."""
    groups: dict[str, set[Account]] = defaultdict(set)
    for deployment in deployments(config):
        params = {
            # A reference to a variable that is not set is compared by its own text.
            field: resolve_value(value, environment) or value
            for field, value in deployment.params.items()
            if field in {"api_base", "api_key"}
        }
        groups[deployment.group].add(Account.from_deployment(params, deployment.info))
    return dict(groups)


def account_findings(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Count the accounts, and check that deployments have distinct ones."""
    check = "accounts"
    groups = accounts(config, environment)
    if not groups:
        return [ok(check, "`model_list` names no deployment", config.path.name)]
    nameless: dict[str, list[int]] = defaultdict(list)
    for deployment in deployments(config):
        if not any(
            (deployment.info.get("account"), deployment.params.get("api_base"), deployment.params.get("api_key"))
        ):
            nameless[deployment.group].append(deployment.index)
    findings = []
    for group, indexes in nameless.items():
        if len(indexes) > 1:
            findings.append(
                warning(
                    check,
                    f"{len(indexes)} deployments of {group} have neither api_base nor api_key and count as one account",
                    config.where("model_list", indexes[0]),
                    hint="Name each one's account in `model_info.account`.",
                )
            )
    distinct = len(set().union(*groups.values()))
    return findings or [
        ok(check, f"{_counted(distinct, 'account')} in {_counted(len(groups), 'model group')}", config.path.name)
    ]


def retries(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Check that a request may be retried as often as there are other accounts."""
    check = "retries"
    configured, where = _configured_retries(config, environment)
    if configured is not None and (not isinstance(configured, int) or isinstance(configured, bool)):
        return [
            error(
                check,
                "`num_retries` is not a whole number, and LiteLLM fails when it counts with it",
                where,
                hint="Write a number without quotes, not a reference.",
            )
        ]
    default = DEFAULT_RETRIES if configured is None else configured
    short: dict[tuple[str, int, str], list[tuple[int, str]]] = defaultdict(list)
    for group, members in accounts(config, environment).items():
        for setting, value, at in _limits(config, group, default, where):
            if value < len(members) - 1:
                short[setting, value, at].append((len(members), group))
    findings = []
    for (setting, value, at), groups in short.items():
        most = max(groups)[0]
        unlisted = f" and {len(groups) - GROUPS_NAMED} more groups" if len(groups) > GROUPS_NAMED else ""
        names = ", ".join(f"{group} ({count} accounts)" for count, group in sorted(groups, reverse=True)[:GROUPS_NAMED])
        stated = f"is {value}" if configured is not None or setting != "num_retries" else f"is {value} by default"
        findings.append(
            warning(
                check,
                f"`{setting}` {stated}, too few for {names}{unlisted}: a request can fail while accounts are untried",
                at,
                hint=f"Set {'router_settings.num_retries' if setting == 'num_retries' else f'`{setting}`'} "
                f"to {most - 1}.",
            )
        )
    return findings or [ok(check, f"`num_retries` is {default}, enough to try every account", where)]


def _configured_retries(config: ProxyConfig, environment: Mapping[str, str]) -> tuple[object, str]:
    for section in ("router_settings", "litellm_settings"):
        value = resolve_value(config.section(section).get("num_retries"), environment)
        if value is not None:
            return value, config.where(section, "num_retries")
    return None, config.where("router_settings")


def _limits(config: ProxyConfig, group: str, default: int, where: str) -> Iterator[tuple[str, int, str]]:
    """Return each setting that can end the retries of a group.

    The deployment that fails first decides: its own number, else the router's; a policy overrides both.
    """
    members = [deployment for deployment in deployments(config) if deployment.group == group]
    # LiteLLM takes digits in quotes as well, here.
    own = [(int(member.params["num_retries"]), member.index) for member in members if _has_own_retries(member)]
    if own:
        value, index = min(own)
        yield "litellm_params.num_retries", value, config.where("model_list", index, "litellm_params", "num_retries")
    if len(own) < len(members):
        yield "num_retries", default, where
    policies = config.section("router_settings").get("model_group_retry_policy")
    path: tuple[Key, ...] = ("router_settings", "retry_policy")
    policy = config.section("router_settings").get("retry_policy")
    if isinstance(policies, Mapping) and isinstance(policies.get(group), Mapping):
        path, policy = ("router_settings", "model_group_retry_policy", group), policies[group]
    if isinstance(policy, Mapping):
        for field in POLICY_FIELDS:
            if isinstance(policy.get(field), int):
                yield field, policy[field], config.where(*path, field)


def _has_own_retries(deployment: Deployment) -> bool:
    text = str(deployment.params.get("num_retries"))
    return text.isascii() and text.isdigit()


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
