# %% [markdown]
# # The noise floor
#
# Two equal proxies were measured in pairs, so each difference between them is noise. The notebook shows how small a
# difference other investigations on this machine can find, and how many pairs they need for it.
#
# `docs/investigations.md` describes the frames, which are read from `summary.json`.

# %%
import math

import matplotlib.pyplot as plt
import pandas as pd
from statsmodels.stats.power import TTestPower

from evenkeel_lab.notebook import draw_effect, investigation, label_rows
from evenkeel_lab.stats import detectable

measured = investigation()
colors = {"off": "C0", "again": "C1", "direct": "0.4"}
markers = {"off": "o", "again": "s", "direct": "^"}
labels = {"off": "off", "again": "off, again", "direct": "the mock alone"}
measured

# %% [markdown]
# ## Verdicts
#
# If one of these were material, no measurement on this machine could be trusted.

# %%
percent = measured.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(2).add_suffix(" %")
measured.verdicts[["figure", "pairs", "kind", "more_pairs"]].join(percent)

# %% [markdown]
# Each tick is the effect in a pair of runs, and the bar is the interval of their mean. The usual margin of other
# investigations is grey.

# %%
canvas, axes = plt.subplots(figsize=(9, 1.2 + 0.6 * len(measured.verdicts)), layout="constrained")
for row, verdict in enumerate(measured.verdicts.to_dict("records")):
    pairs = measured.pairs[measured.pairs["figure"] == verdict["figure"]]
    draw_effect(axes, row, verdict, marker="D")
    axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
label_rows(axes, list(measured.verdicts["figure"]))
axes.set_xlabel("difference between two equal proxies, % (of error_rate: points)")
plt.show()

# %% [markdown]
# ## Smallest detectable effect
#
# It depends on the spread, which is the standard deviation of the effects of single pairs. The error of their mean
# shrinks with the square root of the number of pairs. Markers are at the number of pairs of this session.

# %%
factors = measured.verdicts[(measured.verdicts["scale"] == "factor") & (measured.verdicts["spread"] > 0)]
factors = factors.sort_values("spread", ascending=False).to_dict("records")
counts = range(6, 201)
canvas, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
for verdict, marker in zip(factors, "osD^vPX*<>", strict=False):
    smallest = [100 * math.expm1(detectable(verdict["spread"], count, verdict["alpha"])) for count in counts]
    axes.plot(counts, smallest, marker=marker, markevery=[verdict["pairs"] - counts[0]], label=verdict["figure"])
for margin in (3, 5, 10):
    axes.axhline(margin, color="0.6", linestyle=":", linewidth=1)
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks([6, 12, 24, 50, 100, 200], ["6", "12", "24", "50", "100", "200"])
axes.set_xticks([], minor=True)
axes.set_yticks([1, 3, 5, 10, 30], ["1", "3", "5", "10", "30"])
axes.set_yticks([], minor=True)
axes.set_xlabel("pairs")
axes.set_ylabel("smallest detectable effect, %")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## Pairs for a margin
#
# `to find`: this number of pairs finds a difference as large as the margin, four times in five. `to exclude`: of two
# equal arms, this number of pairs excludes a difference as large as the margin, four times in five. A dash is more than
# a thousand.


# %%
def pairs_to_find(spread: float, alpha: float, margin: float) -> int | None:
    enough = (count for count in range(6, 1001) if detectable(spread, count, alpha) <= math.log1p(margin))
    return next(enough, None)


def pairs_to_exclude(spread: float, alpha: float, margin: float) -> int | None:
    # Both ends of the interval have to lie within the margin. Each may fail with half of the remaining probability.
    test, ratio, power = TTestPower(), math.log1p(margin) / spread, 0.9
    enough = (count for count in range(6, 1001) if test.power(ratio, count, alpha, alternative="larger") >= power)
    return next(enough, None)


needed = pd.DataFrame({"spread %": [round(100 * verdict["spread"], 1) for verdict in factors]})
needed.index = pd.Index([verdict["figure"] for verdict in factors], name="figure")
for margin in (0.03, 0.05, 0.10):
    for name, pairs_for in (("to find", pairs_to_find), ("to exclude", pairs_to_exclude)):
        needed[f"{margin:.0%} {name}"] = [
            pairs_for(verdict["spread"], verdict["alpha"], margin) or "-" for verdict in factors
        ]
needed

# %% [markdown]
# The duration of a pair:

# %%
pairs_measured = measured.runs["pair"].max()
minutes = (measured.runs["at_s"] + measured.runs["seconds"]).max() / 60
print(f"{pairs_measured} pairs in {minutes:.0f} minutes: {60 * minutes / pairs_measured:.0f} s for each")

# %% [markdown]
# ## Runs in the order of time
#
# A change of both arms comes from the machine, and pairs cancel it out. Filled markers are runs that began on the first
# of the two cores. Within each run, both arms had each core for the same time.

# %%
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
first_core = measured.runs["cores"][measured.runs["arm"] == "off"].min()
for arm in ("off", "again"):
    runs = measured.runs[measured.runs["arm"] == arm]
    axes.plot(runs["at_s"] / 60, runs["p50"], color=colors[arm], linewidth=0.8, alpha=0.5)
    for core, on_core in runs.groupby("cores"):
        look = {"marker": markers[arm], "color": colors[arm], "label": f"{labels[arm]}, first on core {core}"}
        if core != first_core:
            look["facecolor"] = "white"
        axes.scatter(on_core["at_s"] / 60, on_core["p50"], zorder=2, **look)
limited = measured.runs[measured.runs["limited"] != ""]
axes.plot(limited["at_s"] / 60, limited["p50"], "x", color="black", markersize=12, label="does not count")
axes.set_ylim(bottom=0)
axes.set_xlabel("minutes since the session began")
axes.set_ylabel("p50 of a run, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %%
proxies = measured.runs[(measured.runs["arm"] != "direct") & (measured.runs["limited"] == "")]
proxies.groupby(["arm", "cores"])[["p50", "mean", "throughput", "cpu_ms"]].median().round(1)

# %% [markdown]
# ## Distribution of latencies
#
# The median over the runs of each arm at each quantile, and the range of all runs.

# %%
counted = measured.quantiles[measured.quantiles["limited"] == ""]
spread = counted.groupby(["arm", "share"])["latency_ms"].agg(["median", "min", "max"]).reset_index()
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm in ("off", "again", "direct"):
    of_arm = spread[spread["arm"] == arm]
    rarity = 1 / (1 - of_arm["share"])
    axes.plot(rarity, of_arm["median"], color=colors[arm], marker=markers[arm], label=labels[arm])
    axes.fill_between(rarity, of_arm["min"], of_arm["max"], color=colors[arm], alpha=0.15, linewidth=0)
shares = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999) if share in set(spread["share"])]
axes.set_xscale("log")
axes.set_xticks([1 / (1 - share) for share in shares], [f"p{100 * share:g}" for share in shares])
axes.set_xticks([], minor=True)
axes.set_yscale("log")
axes.set_ylabel("latency, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## The mock alone
#
# The mock under the same load, without a proxy. The rest of the latency comes from the proxy. `provider` is the CPU
# time of the mock, in cores.

# %%
alone = measured.runs[measured.runs["limited"] == ""].groupby("arm")[["p50", "mean", "throughput", "provider"]].median()
alone.loc["direct as a share of off"] = alone.loc["direct"] / alone.loc["off"]
alone.round(3)
