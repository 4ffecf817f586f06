# %% [markdown]
# # What a Prometheus callback does to the slowest requests
#
# Requests came at random, at six tenths of what a proxy can do, the same ones for both proxies of a pair. All of it is
# read from `summary.json`; `docs/investigations.md` describes the frames.

# %%
import matplotlib.pyplot as plt

from evenkeel_lab.notebook import investigation

found = investigation()
arms = ["again", "evenkeel"]
markers = dict(zip(["off", *arms], "osv", strict=True))
colors = {arm: f"C{number}" for number, arm in enumerate(markers)}
found

# %% [markdown]
# ## What may be said
#
# `again` is the baseline once more: what it shows is what two proxies differ by that are the same.

# %%
percent = found.verdicts[["effect", "low", "high", "margin", "detectable"]].mul(100).round(2).add_suffix(" %")
found.verdicts[["candidate", "figure", "pairs", "kind"]].join(percent)

# %% [markdown]
# ## Every pair
#
# Each mark is a pair, each bar the interval of their mean, the grey field what does not matter.

# %%
figures = ["p50", "p95", "p99"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3), sharey=True, layout="constrained")
for axes, figure in zip(plots, figures, strict=True):
    judged = found.verdicts[found.verdicts["figure"] == figure].set_index("candidate")
    for row, arm in enumerate(arms):
        one = judged.loc[arm]
        pairs = found.pairs[(found.pairs["candidate"] == arm) & (found.pairs["figure"] == figure)]
        axes.barh(row, 200 * one["margin"], left=-100 * one["margin"], height=0.9, color="0.92")
        axes.plot(100 * pairs["effect"], [row + 0.25] * len(pairs), "|", color="0.4")
        axes.hlines(row, 100 * one["low"], 100 * one["high"], color=colors[arm], linewidth=5)
        axes.plot(100 * one["effect"], row, markers[arm], color="white", markeredgecolor=colors[arm])
    axes.axvline(0, color="black", linewidth=1)
    axes.set_xlabel(f"{figure}, % against off")
plots[0].set_yticks(range(len(arms)), arms)
plots[0].set_ylim(len(arms) - 0.4, -0.6)
plt.show()

# %% [markdown]
# ## The whole distribution
#
# The median over the runs of each arm, and the range of all of them.

# %%
counted = found.quantiles[found.quantiles["limited"] == ""]
spread = counted.groupby(["arm", "share"])["latency_ms"].agg(["median", "min", "max"]).reset_index()
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm, marker in markers.items():
    own = spread[spread["arm"] == arm]
    beyond = 1 / (1 - own["share"])
    axes.plot(beyond, own["median"], color=colors[arm], marker=marker, label=arm)
    axes.fill_between(beyond, own["min"], own["max"], color=colors[arm], alpha=0.12, linewidth=0)
shares = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999) if share in set(spread["share"])]
axes.set_xscale("log")
axes.set_xticks([1 / (1 - share) for share in shares], [f"p{100 * share:g}" for share in shares])
axes.set_xticks([], minor=True)
axes.set_yscale("log")
axes.set_ylabel("latency, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# %% [markdown]
# ## How busy they were
#
# The load was the same for all; what is left of a core is what a proxy has for bursts.

# %%
busy = found.runs[(found.runs["limited"] == "") & (found.runs["arm"] != "direct")].copy()
busy["cores used"] = busy["cpu_s"] / busy["seconds"]
busy.groupby("arm")[["throughput", "cpu_ms", "cores used", "p50", "p95", "p99"]].median().round(2)
