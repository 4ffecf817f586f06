# %% [markdown]
# # The noise floor
#
# Two proxies that are the same met in pairs, so every difference between them is noise. This notebook asks what of it
# matters to other investigations on the same machine: how small a difference can be told from nothing, and how many
# pairs that takes.
#
# All of it is read from `summary.json`, which the session has written; `docs/investigations.md` describes the frames.

# %%
import math

import matplotlib.pyplot as plt
import pandas as pd
from statsmodels.stats.power import TTestPower

from evenkeel_lab.notebook import investigation
from evenkeel_lab.stats import detectable

found = investigation()
colors = {"off": "C0", "again": "C1", "direct": "0.4"}
markers = {"off": "o", "again": "s", "direct": "^"}
labels = {"off": "off", "again": "again, the same", "direct": "direct, the mock alone"}
found

# %% [markdown]
# ## Do the two differ?
#
# They must not. If one of these were real, nothing that is measured on this machine could be believed.

# %%
percent = found.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(2).add_suffix(" %")
found.verdicts[["figure", "pairs", "kind", "more_pairs"]].join(percent)

# %% [markdown]
# Each tick is a pair, each bar the interval of the pairs' mean, the grey field the margin that other investigations
# usually have for the figure: what lies in it does not matter.

# %%
canvas, axes = plt.subplots(figsize=(9, 1.2 + 0.6 * len(found.verdicts)), layout="constrained")
for row, one in enumerate(found.verdicts.to_dict("records")):
    pairs = found.pairs[found.pairs["figure"] == one["figure"]]
    axes.barh(row, 200 * one["margin"], left=-100 * one["margin"], height=0.9, color="0.92")
    axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
    axes.hlines(row, 100 * one["low"], 100 * one["high"], color="C0", linewidth=5)
    axes.plot(100 * one["effect"], row, "D", color="white", markeredgecolor="C0")
axes.axvline(0, color="black", linewidth=1)
axes.set_yticks(found.verdicts.index, found.verdicts["figure"])
axes.set_ylim(len(found.verdicts) - 0.4, -0.6)
axes.set_xlabel("difference between two proxies that are the same, % (of error_rate: points)")
plt.show()

# %% [markdown]
# ## How small a difference could be found?
#
# What decides is the spread: by how much the difference of a single pair usually misses the truth (its standard
# deviation). It shrinks with the square root of the number of pairs. The markers are this session; the looks that it
# declared cost it some of its power, and so they would cost another.

# %%
factors = found.verdicts[(found.verdicts["scale"] == "factor") & (found.verdicts["spread"] > 0)]
factors = factors.sort_values("spread", ascending=False).to_dict("records")
counts = range(6, 201)
canvas, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
for one, marker in zip(factors, "osD^vPX*<>", strict=False):
    smallest = [100 * math.expm1(detectable(one["spread"], count, one["alpha"])) for count in counts]
    axes.plot(counts, smallest, marker=marker, markevery=[one["pairs"] - counts[0]], label=one["figure"])
for margin in (3, 5, 10):
    axes.axhline(margin, color="0.6", linestyle=":", linewidth=1)
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks([6, 12, 24, 50, 100, 200], ["6", "12", "24", "50", "100", "200"])
axes.set_xticks([], minor=True)
axes.set_yticks([1, 3, 5, 10, 30], ["1", "3", "5", "10", "30"])
axes.set_yticks([], minor=True)
axes.set_xlabel("pairs")
axes.set_ylabel("smallest effect that is found, %")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## How many pairs does a margin take?
#
# `found`: so many pairs find a difference that is as large as the margin, four times in five. `ruled out`: so many
# pairs show of two arms that do not differ that they do not, four times in five. Dashes: more than a thousand.


# %%
def pairs_to_find(spread: float, alpha: float, margin: float) -> int | None:
    enough = (count for count in range(6, 1001) if detectable(spread, count, alpha) <= math.log1p(margin))
    return next(enough, None)


def pairs_to_rule_out(spread: float, alpha: float, margin: float) -> int | None:
    # An interval may leave the margin on either side, and each may take half of what is left to chance.
    test, ratio, power = TTestPower(), math.log1p(margin) / spread, 0.9
    enough = (count for count in range(6, 1001) if test.power(ratio, count, alpha, alternative="larger") >= power)
    return next(enough, None)


needed = pd.DataFrame({"spread %": [round(100 * one["spread"], 1) for one in factors]})
needed.index = pd.Index([one["figure"] for one in factors], name="figure")
for margin in (0.03, 0.05, 0.10):
    for name, pairs_for in (("found", pairs_to_find), ("ruled out", pairs_to_rule_out)):
        needed[f"{margin:.0%} {name}"] = [pairs_for(one["spread"], one["alpha"], margin) or "-" for one in factors]
needed

# %% [markdown]
# What that takes in time:

# %%
pairs_measured = found.runs["pair"].max()
minutes = (found.runs["at_s"] + found.runs["seconds"]).max() / 60
print(f"{pairs_measured} pairs in {minutes:.0f} minutes: {60 * minutes / pairs_measured:.0f} s for each")

# %% [markdown]
# ## Runs in their order
#
# What moves both arms at once is the machine; a duet takes that out. The filled ones began on the first of the two
# cores. In every run both arms had each core for as long as the other one.

# %%
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
first_core = found.runs["cores"][found.runs["arm"] == "off"].min()
for arm in ("off", "again"):
    runs = found.runs[found.runs["arm"] == arm]
    axes.plot(runs["at_s"] / 60, runs["p50"], color=colors[arm], linewidth=0.8, alpha=0.5)
    for core, own in runs.groupby("cores"):
        look = {"marker": markers[arm], "color": colors[arm], "label": f"{labels[arm]}, first on core {core}"}
        if core != first_core:
            look["facecolor"] = "white"
        axes.scatter(own["at_s"] / 60, own["p50"], zorder=2, **look)
limited = found.runs[found.runs["limited"] != ""]
axes.plot(limited["at_s"] / 60, limited["p50"], "x", color="black", markersize=12, label="does not count")
axes.set_ylim(bottom=0)
axes.set_xlabel("minutes since the session began")
axes.set_ylabel("p50 of a run, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %%
proxies = found.runs[(found.runs["arm"] != "direct") & (found.runs["limited"] == "")]
proxies.groupby(["arm", "cores"])[["p50", "mean", "throughput", "cpu_ms"]].median().round(1)

# %% [markdown]
# ## Where in the distribution
#
# The median over the runs of each arm at each share of requests, and the range of all runs.

# %%
counted = found.quantiles[found.quantiles["limited"] == ""]
spread = counted.groupby(["arm", "share"])["latency_ms"].agg(["median", "min", "max"]).reset_index()
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm in ("off", "again", "direct"):
    own = spread[spread["arm"] == arm]
    beyond = 1 / (1 - own["share"])
    axes.plot(beyond, own["median"], color=colors[arm], marker=markers[arm], label=labels[arm])
    axes.fill_between(beyond, own["min"], own["max"], color=colors[arm], alpha=0.15, linewidth=0)
shares = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999) if share in set(spread["share"])]
axes.set_xscale("log")
axes.set_xticks([1 / (1 - share) for share in shares], [f"p{100 * share:g}" for share in shares])
axes.set_xticks([], minor=True)
axes.set_yscale("log")
axes.set_ylabel("latency, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## What the rig itself costs
#
# The mock alone, under the same load: what remains of a proxy's latency is the proxy's. The mock's own share is the
# time for which it was told to wait.

# %%
alone = found.runs[found.runs["limited"] == ""].groupby("arm")[["p50", "mean", "throughput", "provider"]].median()
alone.loc["direct as a share of off"] = alone.loc["direct"] / alone.loc["off"]
alone.round(3)
