# %% [markdown]
# # Results
#
# `investigation()` reads `summary.json` of this folder as pandas frames, which `docs/investigations.md` describes. Edit
# this file with any editor, or open it as a notebook. `evenkeel report` executes it and writes `notebook.ipynb`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import draw_effect, investigation, label_rows

pd.options.display.max_rows = 200

measured = investigation()
figure = measured.investigation.primary  # the metric in the charts
arms = [arm for arm in [*measured.investigation.arms, "again", "direct"] if arm in set(measured.runs["arm"])]
colors = {arm: f"C{number}" for number, arm in enumerate(arms)}
markers = dict(zip(arms, "osD^vPX*<>" * 9, strict=False))
measured

# %% [markdown]
# ## Verdicts
#
# One row for each comparison and metric. The margin is the smallest difference that matters, and was fixed before the
# measurement. `detectable` is the smallest effect that this number of pairs finds four times in five.

# %%
percent = measured.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(1).add_suffix(" %")
measured.verdicts[["candidate", "baseline", "figure", "pairs", "kind", "more_pairs"]].join(percent)

# %% [markdown]
# ## Effects of all pairs
#
# Each tick is the effect in a pair of runs, and the bar is the interval of their mean. The margin is grey.

# %%
judged = measured.verdicts[measured.verdicts["figure"] == figure].reset_index(drop=True)
canvas, axes = plt.subplots(figsize=(9, 1.2 + 0.6 * len(judged)), layout="constrained")
for row, verdict in enumerate(judged.to_dict("records")):
    of_both = (measured.pairs["baseline"] == verdict["baseline"]) & (
        measured.pairs["candidate"] == verdict["candidate"]
    )
    pairs = measured.pairs[of_both & (measured.pairs["figure"] == figure)]
    draw_effect(axes, row, verdict)
    axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
label_rows(axes, list(judged["candidate"] + " against " + judged["baseline"]))
axes.set_xlabel(f"difference of {figure}, %")
plt.show()

# %% [markdown]
# ## Runs in the order of time
#
# A slope or a step that both arms share comes from the machine. Pairs cancel it out.

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
# ## Distribution of latencies
#
# The median over the runs of each arm at each quantile, and the range of all runs. Functions have no latencies.

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
# ## Parts of the cost
#
# Only of an investigation with an ablation: what the full arm saves without each of its parts, in the unit of the
# metric. The rest is in none of the parts or, below zero, in several.

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
# ## Published results
#
# The claims, the verdicts on published runs by the same method, and our verdicts.

# %%
measured.expected.round(3)
