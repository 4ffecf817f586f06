# %% [markdown]
# # What a Prometheus callback costs a saturated proxy
#
# Each arm met one without a callback in duets: both loaded at the same moment, each on a core of its own, cores changed
# every five seconds; no process met two others. All of it is read from `summary.json`; `docs/investigations.md`
# describes the frames.

# %%
import matplotlib.pyplot as plt

from evenkeel_lab.notebook import investigation

found = investigation()
arms = ["again", "noop", "evenkeel", "stock"]
markers = dict(zip(["off", *arms], "osDvP", strict=True))
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
figures = ["throughput", "cpu_ms", "p50"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3.2), sharey=True, layout="constrained")
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
# ## What a request costs
#
# CPU of the whole proxy for each request, in milliseconds, and what each callback adds to it within pairs. What of it
# is in the callback's own lines, the microbenchmark tells (`evenkeel bench callback`); the rest is what it does to
# everything else: garbage, cold caches, a queue that is longer.

# %%
cpu = found.pairs[found.pairs["figure"] == "cpu_ms"]
added = (cpu["candidate_value"] - cpu["baseline_value"]).groupby(cpu["candidate"]).agg(["mean", "std", "count"])
added["error of the mean"] = added["std"] / added["count"] ** 0.5
added.loc[arms].round(3).rename(columns={"mean": "added ms", "std": "spread of a pair", "count": "pairs"})

# %% [markdown]
# ## Runs in their order
#
# What moves both arms of a pair at once is the machine; a duet takes that out.

# %%
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm, marker in markers.items():
    runs = found.runs[found.runs["arm"] == arm]
    face = "white" if arm == "off" else colors[arm]
    look = {"marker": marker, "edgecolor": colors[arm], "facecolor": face}
    axes.scatter(runs["at_s"] / 60, runs["cpu_ms"], label=arm, **look)
axes.set_ylim(bottom=0)
axes.set_xlabel("minutes since the session began")
axes.set_ylabel("CPU of a request, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()
