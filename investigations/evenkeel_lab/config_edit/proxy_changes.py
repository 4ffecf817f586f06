"""The changes that give a proxy's YAML the plugin: named accounts, retries, callbacks and a section of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import yaml

from evenkeel_lab.config_edit.yaml_text import YamlText
from evenkeel_lab.doctor.callbacks import JOURNAL, LISTS, PROMETHEUS, ROTATION, STOCK_PROMETHEUS
from evenkeel_lab.doctor.config_file import reference
from evenkeel_lab.doctor.routing import DEFAULT_RETRIES
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel import Account
from litellm_evenkeel.settings import SECTION

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION_TEXT = """\
# Settings of litellm-evenkeel. `evenkeel settings` lists all of them with their defaults.
{section}:
  journal: {{store: sqlite}}
"""
SHARED = "  rotation: {shared: {redis_url: litellm}}   # workers and replicas share limits through LiteLLM's Redis\n"
COMMON_WORDS = ("api", "key", "token", "secret", "os", "environ")
MAX_RETRIES = 10
PLUGIN = (ROTATION, PROMETHEUS, JOURNAL)


@dataclass(frozen=True)
class Change:
    """One change, in words."""

    what: str
    why: str


def changed(text: str) -> tuple[str, list[Change]]:
    """Return a proxy's YAML with the plugin, and what has changed. Raise WrongUse if the YAML cannot be changed."""
    document = _document(text)
    before = document.values
    try:
        changes = [*_accounts(document), *_retries(document), *_callbacks(document), *_section(document)]
        # Whatever the YAML looks like: nothing but the plugin is added, and there is nothing left to add.
        again = _document(document.text)
        left = [*_accounts(again), *_retries(again), *_callbacks(again), *_section(again)]
        is_right = (
            not left
            and _without_plugin(document.values) == _without_plugin(before)
            and _has_a_name_for_each_account(before, document.values)
        )
    except (yaml.YAMLError, ValueError, AttributeError, AssertionError, TypeError):
        # The texts of these errors may quote the file, which may contain keys.
        is_right = False
    if not is_right:
        raise WrongUse(
            "This YAML is written in a way that this command cannot change: with anchors, merged or repeated keys, or "
            "sections of an unusual type.",
            hint="Add the callbacks and the accounts by hand: see docs/rotation.md.",
        )
    return document.text, changes


def _has_a_name_for_each_account(before: Any, after: Any) -> bool:
    """Return whether no two accounts got the same name, as they would if they shared a mapping by an anchor."""
    accounts: dict[str, set[Account]] = {}
    for (_, old), (_, new) in zip(_deployments(before), _deployments(after), strict=True):
        info = old.get("model_info") or {}
        name = (new.get("model_info") or {}).get("account")
        if name and not info.get("account"):
            accounts.setdefault(name, set()).add(Account.from_deployment(old["litellm_params"], info))
    return all(len(of_name) == 1 for of_name in accounts.values())


def _without_plugin(values: Any) -> Any:
    """Return a configuration without all that this command adds or replaces."""
    own = deepcopy(values)
    own.pop(SECTION, None)
    for _, deployment in _deployments(own):
        info = deployment.get("model_info") or {}
        info.pop("account", None)
        cast("dict[str, Any]", deployment)["model_info"] = info
    router = own.get("router_settings") or {}
    router.pop("num_retries", None)
    litellm = own.get("litellm_settings") or {}
    for name in LISTS:
        value = litellm.get(name) or []
        loaded = value if isinstance(value, list) else [value]
        litellm[name] = [item for item in loaded if item not in (*PLUGIN, STOCK_PROMETHEUS)]
    return {**own, "router_settings": router, "litellm_settings": litellm}


def _document(text: str) -> YamlText:
    try:
        document = YamlText(text)
        values = document.values
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        # Without the quotation of the file, which may contain a secret.
        raise WrongUse(
            f"{where}this is not YAML: {getattr(error, 'problem', None) or 'it cannot be parsed'}.",
            hint="Mend it there.",
        ) from None
    if not isinstance(values, Mapping):
        raise WrongUse("This is not a proxy's configuration.", hint="It has sections such as `model_list:`.")
    return document


def _accounts(document: YamlText) -> Iterator[Change]:
    """Name the account of each deployment that has a credential and no name yet."""
    names: dict[Account, str] = {}
    added: list[str] = []
    for index, deployment in _deployments(document.values):
        info = deployment.get("model_info") if isinstance(deployment.get("model_info"), Mapping) else {}
        params = deployment["litellm_params"]
        account = Account.from_deployment(params, info or {})
        if (info or {}).get("account"):
            names.setdefault(account, str((info or {})["account"]))
            continue
        if not (params.get("api_key") or params.get("api_base")):
            continue
        name = names.get(account)
        if name is None:
            name = _unused(_account_name(params), set(names.values()))
            names[account] = name
        document.set(("model_list", index, "model_info", "account"), _scalar(name))
        added.append(name)
    if added:
        yield Change(f"accounts are named: {', '.join(dict.fromkeys(added))}", "so that you recognise them")


def _account_name(params: Mapping[str, Any]) -> str:
    """Return a name for a deployment's account: of the variable of its key, of its host, or of its provider."""
    variable = reference(params.get("api_key"))
    if variable:
        words = [word for word in re.split(r"[^a-z0-9]+", variable.lower()) if word and word not in COMMON_WORDS]
        if words:
            return "-".join(words)
    host = urlsplit(str(params.get("api_base") or "")).hostname
    if host and not reference(params.get("api_base")):
        return host.replace(".", "-")
    provider = str(params.get("model") or "").partition("/")[0]
    return re.sub(r"[^a-z0-9]+", "-", provider.lower()).strip("-") or "account"


def _scalar(name: str) -> str:
    """Return a name as YAML, quoted if it would be a number, a truth value or null otherwise."""
    return name if yaml.safe_load(name) == name else json.dumps(name)


def _unused(name: str, used: set[str]) -> str:
    number, candidate = 1, name
    while candidate in used:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _retries(document: YamlText) -> Iterator[Change]:
    """Allow enough retries for a request to try each account of the largest model group once."""
    groups: dict[str, set[Account]] = {}
    for _, deployment in _deployments(document.values):
        account = Account.from_deployment(deployment["litellm_params"], deployment.get("model_info") or {})
        groups.setdefault(str(deployment.get("model_name")), set()).add(account)
    wanted = min(max((len(accounts) for accounts in groups.values()), default=1) - 1, MAX_RETRIES)
    router = document.values.get("router_settings") or {}
    present = router.get("num_retries", DEFAULT_RETRIES)
    if isinstance(present, int) and present < wanted:
        document.set(("router_settings", "num_retries"), str(wanted))
        yield Change(f"num_retries is {wanted}", "so that a request can try each account")


def _callbacks(document: YamlText) -> Iterator[Change]:
    """Load the plugin's callbacks, its Prometheus callback in place of LiteLLM's."""
    settings = document.values.get("litellm_settings") or {}
    lists = [name for name in LISTS if STOCK_PROMETHEUS in (settings.get(name) or ())]
    if len(lists) > 1:
        raise WrongUse(
            f"{STOCK_PROMETHEUS!r} is in {' and '.join(lists)}.",
            hint="Leave it in `callbacks` only; it counts all there.",
        )
    replaced = False
    for name in LISTS:
        value = (document.values.get("litellm_settings") or {}).get(name)
        if value == STOCK_PROMETHEUS:
            document.replace(("litellm_settings", name), PROMETHEUS)
            replaced = True
        for index, item in enumerate(value if isinstance(value, list) else ()):
            if item == STOCK_PROMETHEUS:
                document.replace(("litellm_settings", name, index), PROMETHEUS)
                replaced = True
    if replaced:
        yield Change(f"{PROMETHEUS} replaces {STOCK_PROMETHEUS!r}", "it exports the same series")
    loaded = str(document.values.get("litellm_settings"))
    missing = [name for name in PLUGIN if name not in loaded]
    for name in missing:
        document.append(("litellm_settings", "callbacks"), name)
    if missing:
        yield Change(f"callbacks are added: {', '.join(missing)}", "rotation, metrics and journal")


def _section(document: YamlText) -> Iterator[Change]:
    """Add the section of the plugin."""
    values = document.values
    if SECTION in values:
        return
    block = SECTION_TEXT.format(section=SECTION)
    if _uses_redis(values):
        block += SHARED
    document.append_text(block)
    yield Change(f"the section `{SECTION}:` is added", "the plugin's settings")


def _uses_redis(values: Mapping[str, Any]) -> bool:
    router, litellm = values.get("router_settings") or {}, values.get("litellm_settings") or {}
    cache = litellm.get("cache_params") or {}
    return any(router.get(name) for name in ("redis_url", "redis_host")) or (
        cache.get("type") == "redis" and any(cache.get(name) for name in ("url", "host"))
    )


def _deployments(values: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    models = values.get("model_list")
    for index, deployment in enumerate(models if isinstance(models, list) else ()):
        if isinstance(deployment, Mapping) and isinstance(deployment.get("litellm_params"), Mapping):
            yield index, deployment
