# %% [markdown]
# # What was found
#
# All of this is read from `summary.json`, which the session has written: pandas frames, which `docs/investigations.md`
# describes. Change what you like, with any editor or as a notebook. What it shows is committed beside it, as
# `notebook.ipynb`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import investigation

pd.options.display.max_rows = 200

measured = investigation()
figure = measured.investigation.primary  # which of the figures the charts are about
arms = [arm for arm in [*measured.investigation.arms, "again", "direct"] if arm in set(measured.runs["arm"])]
colors = {arm: f"C{number}" for number, arm in enumerate(arms)}
markers = dict(zip(arms, "osD^vPX*<>" * 9, strict=False))
measured

# %% [markdown]
# ## What may be said
#
# One line for each comparison and each figure. The smallest difference that matters, its margin, was fixed before
# anything was measured; `detectable` is the smallest effect that this number of pairs finds four times in five.

# %%
percent = measured.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(1).add_suffix(" %")
measured.verdicts[["candidate", "baseline", "figure", "pairs", "kind", "more_pairs"]].join(percent)

# %% [markdown]
# ## Every pair
#
# The unit is a pair of runs: each tick is one. The bar is the interval of their mean, the grey field is what does not
# matter.

# %%
judged = measured.verdicts[measured.verdicts["figure"] == figure].reset_index(drop=True)
canvas, axes = plt.subplots(figsize=(9, 1.2 + 0.6 * len(judged)), layout="constrained")
for row, verdict in enumerate(judged.to_dict("records")):
    of_both = (measured.pairs["baseline"] == verdict["baseline"]) & (
        measured.pairs["candidate"] == verdict["candidate"]
    )
    pairs = measured.pairs[of_both & (measured.pairs["figure"] == figure)]
    axes.barh(row, 200 * verdict["margin"], left=-100 * verdict["margin"], height=0.9, color="0.92")
    axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
    axes.hlines(row, 100 * verdict["low"], 100 * verdict["high"], color="C0", linewidth=5)
    axes.plot(100 * verdict["effect"], row, "D", color="white", markeredgecolor="C0")
axes.axvline(0, color="black", linewidth=1)
axes.set_yticks(judged.index, judged["candidate"] + " against " + judged["baseline"])
axes.set_ylim(len(judged) - 0.4, -0.6)
axes.set_xlabel(f"difference of {figure}, %")
plt.show()

# %% [markdown]
# ## Runs in their order
#
# A slope or a step that both arms share is the machine; pairs take it out.

# %%
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm in arms:
    runs = measured.runs[measured.runs["arm"] == arm]
    axes.scatter(runs["at_s"] / 60, runs[figure], color=colors[arm], marker=markers[arm], alpha=0.8, label=arm)
limited = measured.runs[measured.runs["limited"] != ""]
axes.plot(limited["at_s"] / 60, limited[figure], "x", color="black", markersize=12, label="does not count")
axes.set_ylim(bottom=0)
axes.set_xlabel("minutes since the session began")
axes.set_ylabel(f"{figure} of a run")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## Where in the distribution
#
# The median over the runs of each arm, and the range of all of them. A function of the project's own has no requests,
# and nothing to show here.

# %%
counted = measured.quantiles[measured.quantiles["limited"] == ""]
spread = counted.groupby(["arm", "share"])["latency_ms"].agg(["median", "min", "max"]).reset_index()
if not spread.empty:
    canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for arm in arms:
        own = spread[spread["arm"] == arm]
        beyond = 1 / (1 - own["share"])
        axes.plot(beyond, own["median"], color=colors[arm], marker=markers[arm], label=arm)
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
# ## What a cost is made of
#
# Only where the file has an ablation: what the full arm saves without each of its parts, in the figure's own unit. The
# rest belongs to none of them or, below zero, to several.

# %%
costs = measured.costs[measured.costs["figure"] == figure].reset_index(drop=True)
if not costs.empty:
    canvas, axes = plt.subplots(figsize=(9, 1.2 + 0.5 * len(costs)), layout="constrained")
    axes.barh(costs.index, costs["cost"], color="0.8")
    axes.hlines(costs.index, costs["low"], costs["high"], color="C0", linewidth=3)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(costs.index, costs["piece"])
    axes.invert_yaxis()
    axes.set_xlabel(f"{figure}, {costs['unit'].iloc[0]}")
    plt.show()
costs.drop(columns="figure").round(3)

# %% [markdown]
# ## What others found
#
# What was claimed, what the published runs say when they are judged as ours are, and ours.

# %%
measured.expected.round(3)
