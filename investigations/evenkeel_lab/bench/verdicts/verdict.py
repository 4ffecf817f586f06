"""Error rates of verdicts on simulated sessions, next to those of common methods on sessions without a difference."""

from __future__ import annotations

import asyncio
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import stats

from evenkeel_lab.bench.result import Metric
from evenkeel_lab.bench.verdicts.simulation import Session, blocks, boots, session
from evenkeel_lab.stats import LEAST_PAIRS, Kind, Margin, Scale, alpha_per_look, equivalence_test
from evenkeel_load.analysis.statistics import quantiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stats import Verdict

    class HasPValue(Protocol):
        """Result of a test of scipy."""

        @property
        def pvalue(self) -> Any:
            """The p-value."""


SESSIONS, PAIRS = 400, 6
LOOKS = (6, 12, 24)
MOST_PAIRS, PAIRS_PER_BOOT = 40, 4
QUANTILES = {"p50": 0.5, "p99": 0.99}
MARGINS = {"p50": Margin(Scale.FACTOR, 0.05), "p99": Margin(Scale.FACTOR, 0.10)}
SPREAD = 0.03
BLOCKS, FEW, RESAMPLES, SIGNIFICANT = 10, 5, 500, 0.05
PEEKS = range(5, 25)


async def bench_verdict(steps: Steps) -> list[Metric]:
    """Simulate sessions, and return the metrics."""
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor() as pool:

        async def share(what: str, simulate: Callable[[int], dict[str, bool]]) -> dict[str, float]:
            with steps.step(f"{SESSIONS} sessions: {what}"):
                claimed = await loop.run_in_executor(
                    None, lambda: list(pool.map(simulate, range(SESSIONS), chunksize=20))
                )
            return {name: float(np.mean([result[name] for result in claimed])) for name in claimed[0]}

        same = await share("no difference, six pairs", claims)
        twice = await share("a difference of twice the margin", finds_twice_the_margin)
        zero = await share("no difference, judged at each look", ends_equivalent)
        anytime = await share("no difference, always-valid intervals after each pair", anytime_claims)
        rebooted = await share("no difference, proxies that differ by their boot", boot_claims)
        naive = await share("no difference, the usual methods", naive_claims)
    note = ", ".join(f"{name} {value:.0%}" for name, value in naive.items())
    return [
        *(
            Metric(f"aa_false_positive_share_{name}", same[name], "", "<= 0.07", f"{PAIRS} pairs, nominal 5 %")
            for name in QUANTILES
        ),
        Metric("aa_false_positive_share_looks", zero["claims"], "", "<= 0.07", f"p50, looks after {LOOKS} pairs"),
        Metric(
            "aa_false_positive_share_anytime",
            anytime["claims"],
            "",
            "<= 0.07",
            f"p50, always-valid intervals at every stopping time from {LEAST_PAIRS} to {MOST_PAIRS} pairs",
        ),
        Metric(
            "aa_false_positive_share_reboots",
            rebooted["reboots"],
            "",
            "<= 0.07",
            f"{PAIRS} boots of {PAIRS_PER_BOOT} pairs",
        ),
        Metric(
            "aa_false_positive_share_one_boot",
            rebooted["one boot"],
            "",
            ">= 0.07",
            f"{PAIRS * PAIRS_PER_BOOT} pairs of one boot: too many, as it has to be",
        ),
        Metric("power_at_twice_margin", min(twice.values()), "", ">= 0.9", _as_text(twice)),
        Metric("equivalence_share_at_zero", zero["equivalent"], "", ">= 0.8", f"s_d = {SPREAD:.0%}, by the last look"),
        Metric("naive_false_positive_share", naive["Mann-Whitney, one pair"], "", None, note),
    ]


def claims(seed: int) -> dict[str, bool]:
    """Return whether a difference is claimed for a session without one, by metric."""
    simulated = session(_source(seed, "claims"), PAIRS)
    return {
        name: equivalence_test(_differences(simulated, name), MARGINS[name].width([1.0], [1.0])).kind.is_real
        for name in QUANTILES
    }


def finds_twice_the_margin(seed: int) -> dict[str, bool]:
    """Return whether a difference of twice the margin is material by the last look, by metric."""
    return {
        name: _last_look(
            _differences(session(_source(seed, name), LOOKS[-1], 2 * MARGINS[name].size), name), MARGINS[name]
        ).kind
        is Kind.MATERIAL
        for name in QUANTILES
    }


def ends_equivalent(seed: int) -> dict[str, bool]:
    """Return the outcome of a session without any difference, with pairs that vary by three per cent."""
    verdict = _last_look(_source(seed, "zero").normal(0, SPREAD, LOOKS[-1]).tolist(), MARGINS["p50"])
    return {"equivalent": verdict.kind is Kind.NONE, "claims": verdict.kind.is_real}


def anytime_claims(seed: int) -> dict[str, bool]:
    """Return whether always-valid intervals claim a difference after any pair of a session without one."""
    differences = _differences(session(_source(seed, "anytime"), MOST_PAIRS), "p50")
    margin = MARGINS["p50"].width([1.0], [1.0])
    return {
        "claims": any(
            equivalence_test(differences[:pairs], margin, always_valid=True).kind.is_real
            for pairs in range(LEAST_PAIRS, MOST_PAIRS + 1)
        )
    }


def boot_claims(seed: int) -> dict[str, bool]:
    """Return whether a difference is claimed for arms that are the same, but for the chance of their boots."""
    margin = MARGINS["p50"].width([1.0], [1.0])
    source = _source(seed, "boots")
    rebooted, once = boots(source, PAIRS, PAIRS_PER_BOOT), boots(source, 1, PAIRS * PAIRS_PER_BOOT)
    return {
        "reboots": equivalence_test(rebooted.mean(axis=1).tolist(), margin).kind.is_real,
        "one boot": equivalence_test(once[0].tolist(), margin).kind.is_real,
    }


def naive_claims(seed: int) -> dict[str, bool]:
    """Return whether common methods claim a difference for a session without one, by method."""
    source = _source(seed, "naive")
    single, few, many = session(source, 1), session(source, FEW), session(source, PEEKS[-1])
    apart = blocks(source, BLOCKS)
    logs = _differences(few, "p50")
    resampled = source.choice(logs, (RESAMPLES, FEW)).mean(axis=1)
    low, high = np.quantile(resampled, [SIGNIFICANT / 2, 1 - SIGNIFICANT / 2])
    peeked = _differences(many, "p50")
    return {
        "Mann-Whitney, one pair": _differ(stats.mannwhitneyu(single.baseline[0], single.candidate[0])),
        "Mann-Whitney, five pooled": _differ(stats.mannwhitneyu(few.baseline.ravel(), few.candidate.ravel())),
        "bootstrap of requests": _bootstrap(source, single),
        "Welch, AAAA then BBBB": _differ(
            stats.ttest_ind(_figures(apart.baseline, "p50"), _figures(apart.candidate, "p50"), equal_var=False)
        ),
        "bootstrap of five pairs": bool(low > 0 or high < 0),
        "peeking": any(_differ(stats.ttest_1samp(peeked[:count], 0)) for count in PEEKS),
    }


def _last_look(differences: Sequence[float], margin: Margin) -> Verdict:
    """Judge at each look until the verdict is settled."""
    for look in LOOKS:
        verdict = equivalence_test(differences[:look], margin.width([1.0], [1.0]), alpha=alpha_per_look(LOOKS))
        if verdict.kind.is_settled:
            break
    return verdict


def _differences(simulated: Session, name: str) -> list[float]:
    return MARGINS[name].differences(_figures(simulated.baseline, name), _figures(simulated.candidate, name))


def _figures(runs: np.ndarray, name: str) -> list[float]:
    return [quantiles(run, [QUANTILES[name]])[0] for run in runs]


def _bootstrap(source: np.random.Generator, simulated: Session) -> bool:
    draws = source.integers(0, simulated.baseline.shape[1], (2, RESAMPLES, simulated.baseline.shape[1]))
    difference = np.median(simulated.candidate[0][draws[1]], axis=1) - np.median(
        simulated.baseline[0][draws[0]], axis=1
    )
    low, high = np.quantile(difference, [SIGNIFICANT / 2, 1 - SIGNIFICANT / 2])
    return bool(low > 0 or high < 0)


def _differ(test: HasPValue) -> bool:
    return bool(test.pvalue < SIGNIFICANT)


def _as_text(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.0%}" for name, value in shares.items())


def _source(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])
