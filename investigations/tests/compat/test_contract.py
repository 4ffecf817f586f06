"""The contract lists what the plugin touches of LiteLLM: all of it, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.compat.contract import FILE, Entry, contract
from evenkeel_lab.compat.lookup import breaks
from evenkeel_lab.compat.resolve import CALL, Definition, Resolver
from evenkeel_lab.compat.source import Tree
from evenkeel_lab.compat.uses import Uses, mentioned, uses
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.metrics.budget_gauges import BudgetGauges
from litellm_evenkeel.metrics.router_usage import GAUGES

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN = Path(__file__).parents[3] / "plugin"
SERVER = "litellm.proxy.proxy_server"
# What functions are given, and return, which no reading of the source shows: `module.function.parameter`, or
# `module.function()`. A star stands for all functions of a module.
HINTS = {
    "litellm_router.proxy_process.server()": SERVER,
    "litellm_router.*.router": f"{SERVER}.llm_router",
    "metrics.callback._readers.callback": "litellm.integrations.prometheus.PrometheusLogger",
    "lean.team_settings.proxy_process.server()": SERVER,
    "metrics.proxy_caches.proxy_process.server()": SERVER,
    "metrics.proxy_caches._in_memory.cache": f"{SERVER}.user_api_key_cache",
    "metrics.proxy_caches._in_memory()": f"{SERVER}.user_api_key_cache.in_memory_cache",
    "proxy_process.server()": SERVER,
    "rotation.litellm_filters.*.router": f"{SERVER}.llm_router",
    "rotation.litellm_filters.routing_context()": "litellm.router_api.RoutingContext",
}


@pytest.fixture(scope="module")
def found() -> Uses:
    return uses(PLUGIN, HINTS)


@pytest.fixture(scope="module")
def installed() -> Resolver:
    """The LiteLLM beside the tests, whose source is read and never run."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    return Resolver(Tree(Path(spec.origin).parents[1]))


def covering(name: str) -> list[Entry]:
    """Return the entries that a use of a name is covered by."""

    def covers(entry: Entry, listed: str) -> bool:
        if fnmatchcase(listed, name):
            return True
        return entry.opaque and (name.startswith((f"{listed}.", f"{listed}{CALL}.")))

    return [entry for entry in contract() if any(covers(entry, listed) for listed in entry.names)]


def is_touched(entry: Entry, module: str, found: Uses) -> bool:
    if any(
        module in modules for name, modules in found.names.items() if any(fnmatchcase(n, name) for n in entry.names)
    ):
        return True
    here = mentioned(PLUGIN, module)
    if entry.kind == "text":
        return any(entry.name in one for one in here)
    wanted = entry.members or (entry.name.removesuffix(".__init__").rpartition(".")[2],)
    # Of an f-string, most has to be written down.
    patterns = [one for one in here if "*" in one and len(one.replace("*", "")) > len("litellm_")]
    return all(name in here or any(fnmatchcase(name, one) for one in patterns) for name in wanted)


def proposed(name: str, modules: set[str], installed: Resolver) -> str:
    """Return the entry that is missing, as it may be pasted into the contract."""
    there = installed.resolve(name)
    kind = there.kind if isinstance(there, Definition) else "function, async function, attribute, class or module"
    needed_by = ", ".join(f'"{one}"' for one in sorted(modules))
    return f'["{name}"]\nkind = "{kind.replace("value", "attribute")}"\nneeded_by = [{needed_by}]\nwhy = "..."\n'


def test_every_use_of_litellm_is_in_the_contract(found: Uses, installed: Resolver) -> None:
    missing = {name: modules for name, modules in found.names.items() if name != "litellm" and not covering(name)}
    text = "\n".join(proposed(name, modules, installed) for name, modules in sorted(missing.items()))
    assert not missing, f"{FILE} lacks what the plugin touches. Add, with the parameters that are passed:\n\n{text}"


def test_each_entry_lists_all_modules_that_use_it(found: Uses) -> None:
    wrong = []
    for name, modules in found.names.items():
        entries = [entry for entry in covering(name) if name in entry.names]
        wrong += [f"{entry.name}: {module}" for entry in entries for module in modules - set(entry.needed_by)]
    assert not wrong, f"{FILE}: add to needed_by:\n" + "\n".join(sorted(wrong))


def test_every_entry_of_the_contract_is_used(found: Uses) -> None:
    stale = [
        f"{entry.name}: {module}"
        for entry in contract()
        if entry.kind != "metric"
        for module in entry.needed_by
        if not is_touched(entry, module, found)
    ]
    assert not stale, f"{FILE}: these modules do not touch it any more. Remove them, or the entry:\n" + "\n".join(stale)


def test_overridden_names_of_litellm_are_in_the_contract(found: Uses, installed: Resolver) -> None:
    own = {name: method for name, method in found.own.items() if isinstance(installed.resolve(name), Definition)}
    missing = [name for name in own if not covering(name) and not name.endswith(".__getattr__")]
    assert not missing, f"{FILE} lacks what classes of ours replace:\n" + "\n".join(sorted(missing))


def test_hooks_take_the_parameters_of_the_contract(found: Uses) -> None:
    for entry in contract():
        method = found.own.get(entry.name)
        if not entry.kind.endswith("hook") or method is None:
            continue
        names = [one.arg for one in [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]]
        takes = {*names} - {"self"}
        listed = {*(entry.parameters or ()), *entry.optional_parameters}
        assert entry.takes_any is (method.args.kwarg is not None), entry.name
        if not entry.takes_any:
            assert takes == listed, entry.name
        assert isinstance(method, ast.AsyncFunctionDef) is entry.kind.startswith("async"), entry.name


def test_every_hook_of_the_contract_exists_in_the_plugin(found: Uses) -> None:
    hooks = {entry.name for entry in contract() if entry.kind.endswith("hook")}
    assert hooks <= set(found.own)


class Asked(dict[str, Any]):
    """Families of which it is remembered for which they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_metrics_that_the_plugin_writes_directly_are_in_the_contract() -> None:
    asked = Asked()
    BudgetGauges(asked, clean=str, clock=lambda: 0.0)
    listed = {entry.name for entry in contract() if entry.kind == "metric"}
    assert listed == asked.names | set(GAUGES)


def test_the_contract_holds_in_the_installed_litellm(installed: Resolver) -> None:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    version = importlib.metadata.version("litellm")
    assert breaks(Tree(Path(spec.origin).parents[1]), version, contract()) == []


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    contract.cache_clear()
    yield tmp_path / "contract.toml"
    contract.cache_clear()


@pytest.mark.parametrize("text", ["[", '["litellm.x"]\nkind = "thing"\nwhy = ""\nneeded_by = ["a"]\n', "x = 1"])
def test_a_malformed_contract_is_refused(text: str, written: Path) -> None:
    written.write_text(text)
    with pytest.raises(WrongUse, match=r"contract\.toml"):
        contract(written)
