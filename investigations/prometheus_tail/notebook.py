# %% [markdown]
# # A Prometheus callback and the slowest requests
#
# Requests arrived at random, at six tenths of what a proxy can serve, and the same ones at both proxies of a pair.
# `docs/investigations.md` describes the frames, which are read from `summary.json`.

# %%
import matplotlib.pyplot as plt

from evenkeel_lab.notebook import draw_effect, investigation, label_rows

measured = investigation()
arms = ["again", "evenkeel", "stock"]
markers = dict(zip(["off", *arms], "osvP", strict=True))
colors = {arm: f"C{number}" for number, arm in enumerate(markers)}
measured

# %% [markdown]
# ## Verdicts
#
# `again` is a second proxy without a callback, so its effects are noise.

# %%
percent = measured.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(2).add_suffix(" %")
measured.verdicts[["candidate", "figure", "pairs", "kind"]].join(percent)

# %% [markdown]
# ## Effects of all pairs
#
# Each tick is the effect in a pair of runs, and the bar is the interval of their mean. The margin is grey.

# %%
figures = ["p50", "p95", "p99"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3), sharey=True, layout="constrained")
for axes, figure in zip(plots, figures, strict=True):
    judged = measured.verdicts[measured.verdicts["figure"] == figure].set_index("candidate")
    for row, arm in enumerate(arms):
        pairs = measured.pairs[(measured.pairs["candidate"] == arm) & (measured.pairs["figure"] == figure)]
        draw_effect(axes, row, judged.loc[arm], color=colors[arm], marker=markers[arm])
        axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
    label_rows(axes, arms)
    axes.set_xlabel(f"{figure}, % against off")
plt.show()

# %% [markdown]
# ## Distribution of latencies
#
# The median over the runs of each arm at each quantile, and the range of all runs.

# %%
counted = measured.quantiles[measured.quantiles["limited"] == ""]
spread = counted.groupby(["arm", "share"])["latency_ms"].agg(["median", "min", "max"]).reset_index()
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm, marker in markers.items():
    of_arm = spread[spread["arm"] == arm]
    rarity = 1 / (1 - of_arm["share"])
    axes.plot(rarity, of_arm["median"], color=colors[arm], marker=marker, label=arm)
    axes.fill_between(rarity, of_arm["min"], of_arm["max"], color=colors[arm], alpha=0.12, linewidth=0)
shares = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999) if share in set(spread["share"])]
axes.set_xscale("log")
axes.set_xticks([1 / (1 - share) for share in shares], [f"p{100 * share:g}" for share in shares])
axes.set_xticks([], minor=True)
axes.set_yscale("log")
axes.set_ylabel("latency, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## Used cores
#
# All proxies had the same load. What they leave of a core is free for bursts.

# %%
busy = measured.runs[(measured.runs["limited"] == "") & (measured.runs["arm"] != "direct")].copy()
busy["cores used"] = busy["cpu_s"] / busy["seconds"]
busy.groupby("arm")[["throughput", "cpu_ms", "cores used", "p50", "p95", "p99"]].median().round(2)
