"""Checks of what a configuration refers to: environment variables, the master key, the workers' shared folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenkeel_lab.doctor.callbacks import PROMETHEUS, STOCK_PROMETHEUS, entries
from evenkeel_lab.doctor.config_file import Key, ProxyConfig, reference, resolve_value
from evenkeel_lab.doctor.finding import Finding, error, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

WELL_KNOWN_KEYS = frozenset({"sk-1234"})
"""Keys with which LiteLLM refuses to start."""
MIN_KEY_LENGTH = 16
PERMIT_SETTING = "dangerously_permit_weak_or_unset_master_key"
PERMIT_VARIABLE = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
WORKERS_VARIABLES = ("NUM_WORKERS", "DEFAULT_NUM_WORKERS_LITELLM_PROXY")
MULTIPROCESS_VARIABLES = ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir")
MAX_DEPTH = 20


def references(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Check that the variable of every `os.environ/NAME` is set."""
    check = "references"
    used: dict[str, list[tuple[Key, ...]]] = {}
    for path, name in _references(config.values, ()):
        used.setdefault(name, []).append(path)
    system = config.section("general_settings").get("key_management_system")
    if not used:
        return [ok(check, "no value refers to a variable", config.path.name)]
    if system:
        return [ok(check, f"{len(used)} are read from a secret manager, not checked here", config.path.name)]
    own = config.section("environment_variables")
    findings = []
    for name, paths in used.items():
        if environment.get(name) or ("general_settings", "master_key") in paths:
            continue  # the master key has a check of its own
        where = config.where(*paths[0])
        if own.get(name):
            findings.append(
                warning(
                    check,
                    f"{name} is set under `environment_variables` only, which LiteLLM reads after it has "
                    "resolved references: the value is empty",
                    where,
                    hint=f"Set {name} in the environment of the proxy.",
                )
            )
        else:
            state = "empty" if name in environment else "not set"
            findings.append(
                warning(check, f"{name} is {state} here", where, hint="Set it in the environment of the proxy.")
            )
    return findings or [ok(check, f"all {len(used)} variables are set", config.path.name)]


def master_key(config: ProxyConfig, environment: Mapping[str, str]) -> Finding:
    """Check that LiteLLM would accept the master key. Findings do not contain the key."""
    check = "master key"
    general = config.section("general_settings")
    written = "master_key" in general
    where = config.where("general_settings", "master_key") if written else "LITELLM_MASTER_KEY"
    value = general["master_key"] if written else environment.get("LITELLM_MASTER_KEY")
    name = reference(value)
    key = resolve_value(value, environment)
    if key is None and name and general.get("key_management_system"):
        return ok(check, "it is read from a secret manager, not checked here", where)
    if isinstance(key, str) and key.strip() and key.strip() not in WELL_KNOWN_KEYS:
        if len(key.strip()) < MIN_KEY_LENGTH:
            return warning(
                check, f"it has fewer than {MIN_KEY_LENGTH} characters", where, hint="Take a long random one."
            )
        return ok(check, "it is set", where)
    if key is None:
        what = f"{name} is not set" if name else "it is not set"
    elif not isinstance(key, str):
        what = "it is not text"
    else:
        what = "it is a well-known one" if key.strip() else "it is empty"
    hint = "Set LITELLM_MASTER_KEY to `sk-` and a long random text, and refer to it as os.environ/LITELLM_MASTER_KEY."
    if general.get(PERMIT_SETTING) is True or environment.get(PERMIT_VARIABLE, "").strip().lower() == "true":
        return warning(check, f"{what}, and a setting lets the proxy start nevertheless", where, hint=hint)
    return error(check, f"{what}: the proxy would refuse to start", where, hint=hint)


def worker_count(environment: Mapping[str, str], option: int | None) -> int | None:
    """Return the number of workers: `option`, else the environment's; `None` if that is not a number."""
    if option is not None:
        return option
    text = next((environment[name] for name in WORKERS_VARIABLES if environment.get(name)), "1")
    return int(text) if text.strip().isascii() and text.strip().isdigit() else None


def workers(
    config: ProxyConfig, environment: Mapping[str, str], count: int | None, *, folder_usable: bool | None
) -> Finding:
    """Check that the metrics of several workers are added up."""
    check = "workers"
    if count is None:
        return error(check, "it is not a number", WORKERS_VARIABLES[0], hint="Set it to the number of workers.")
    prometheus = [entry for entry in entries(config) if entry.is_prometheus]
    variable = next((name for name in MULTIPROCESS_VARIABLES if environment.get(name)), None)
    if not prometheus:
        return ok(check, f"{count}, without Prometheus metrics")
    stock = all(entry.name == STOCK_PROMETHEUS for entry in prometheus)
    ours = all(entry.name == PROMETHEUS for entry in prometheus)
    if variable and not folder_usable and not (stock and count > 1):  # LiteLLM creates it then
        return error(
            check, "the folder of the workers' metrics is missing or not writable", variable, hint="Create it."
        )
    if variable or count == 1 or ours:
        storage = "a shared folder" if variable else "memory" if count == 1 else "a folder that the callback makes"
        return ok(check, f"{count}, with metrics in {storage}")
    hint = f"Set {MULTIPROCESS_VARIABLES[0]} to an empty folder that the workers can write to."
    if stock:
        return warning(
            check,
            f"{count} without {MULTIPROCESS_VARIABLES[0]}: LiteLLM 1.106 makes a folder of a fixed name, which "
            "proxies on one machine would share, older versions make none",
            prometheus[0].where,
            hint=hint,
        )
    return error(
        check,
        f"{count} without {MULTIPROCESS_VARIABLES[0]}: each worker would count for itself and /metrics would show "
        "one of them at random",
        prometheus[0].where,
        hint=hint,
    )


def _references(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield the references that LiteLLM resolves: values of mappings, but not items of lists."""
    if len(path) > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = reference(item)
            # LiteLLM resolves `*_ref` fields later, when it uses them.
            if name is not None and not str(key).endswith("_ref"):
                yield (*path, key), name
            yield from _references(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                yield from _references(item, (*path, index))
