"""Advice on callbacks of the plugin that a configuration does not name, with the effect that was measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import LEAN, PROMETHEUS, STOCK_PROMETHEUS, entries
from evenkeel_lab.doctor.finding import Finding, advice
from evenkeel_lab.doctor.stores import database_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.doctor.config_file import ProxyConfig


@dataclass(frozen=True)
class Gain:
    """The effect of a callback, as a report states it."""

    callback: str
    what: str
    report: str


LEAN_GAIN = Gain(
    LEAN,
    "when a hundred clients came at once after a minute without requests, 73.2 % of the first requests took more than "
    "five seconds with LiteLLM 1.108.7 alone, and 0.00 % with this callback; all of them waited for their turn, so the "
    "median rose from 638 to 1,562 ms",
    "reports/bursts/forgotten_key.md",
)
MANY_DEPLOYMENTS = 64
"""Number of deployments whose prices LiteLLM keeps. With more, it copies prices again for each request."""
MANY_GAIN = Gain(
    LEAN,
    "with a thousand accounts behind one model, a saturated LiteLLM 1.108.7 lost 92.3 % of the throughput that it has "
    "with ten, and 10.8 % with this callback",
    "reports/many_accounts/accounts.md",
)
GROUPS_GAIN = Gain(
    LEAN,
    "with five hundred model groups of three accounts each, a saturated LiteLLM 1.108.7 lost 60.0 % of the throughput "
    "that it has with three groups, and 4.9 % with this callback",
    "reports/many_accounts/groups.md",
)
PROMETHEUS_GAIN = Gain(
    PROMETHEUS,
    "a saturated LiteLLM 1.106.2 lost 8.1 % of its throughput to its own Prometheus callback; with this one, "
    "it lost 0.49 %, which is no measurable difference",
    "reports/prometheus_fixed.md",
)
GAINS = (LEAN_GAIN, MANY_GAIN, GROUPS_GAIN, PROMETHEUS_GAIN)


def gains(config: ProxyConfig, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield advice for each callback of the plugin whose gain was measured with a configuration of this kind."""
    named = {entry.name: entry for entry in entries(config)}
    if LEAN not in named and database_url(config, environment)[0]:
        where = config.where("litellm_settings", "callbacks")
        yield _advice(_lean_gain(config), where, "Add it to `callbacks`")
    if STOCK_PROMETHEUS in named and PROMETHEUS not in named:
        yield _advice(PROMETHEUS_GAIN, named[STOCK_PROMETHEUS].where, f'Name it in place of "{STOCK_PROMETHEUS}"')


def _lean_gain(config: ProxyConfig) -> Gain:
    models = config.values.get("model_list")
    groups = Counter(
        str(model.get("model_name", ""))
        for model in (models if isinstance(models, list) else [])
        if isinstance(model, dict)
    )
    if max(groups.values(), default=0) > MANY_DEPLOYMENTS:
        return MANY_GAIN
    return GROUPS_GAIN if groups.total() > MANY_DEPLOYMENTS else LEAN_GAIN


def _advice(gain: Gain, where: str, hint: str) -> Finding:
    return advice("gains", f"{gain.callback}: {gain.what}", where, hint=f"{hint}; see {gain.report}.")
