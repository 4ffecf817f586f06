# %% [markdown]
# # The cost of a Prometheus callback in a saturated proxy
#
# Each proxy with a callback was measured beside one without it: both were loaded at the same time, each on one core,
# and changed cores every five seconds. `docs/investigations.md` describes the frames, which are read from
# `summary.json`.

# %%
import matplotlib.pyplot as plt

from evenkeel_lab.notebook import draw_effect, investigation, label_rows

measured = investigation()
arms = ["again", "noop", "evenkeel", "stock"]
markers = dict(zip(["off", *arms], "osDvP", strict=True))
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
figures = ["throughput", "cpu_ms", "p50"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3.2), sharey=True, layout="constrained")
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
# ## CPU time of a request
#
# What each callback adds to the CPU time of all processes of the proxy for a request, within pairs. `evenkeel bench
# callback` measures the callback's own code. The rest is its effect on other code: garbage collections, cold caches,
# and a longer queue.

# %%
cpu = measured.pairs[measured.pairs["figure"] == "cpu_ms"]
added = (cpu["candidate_value"] - cpu["baseline_value"]).groupby(cpu["candidate"]).agg(["mean", "std", "count"])
added["error of the mean"] = added["std"] / added["count"] ** 0.5
added.loc[arms].round(3).rename(columns={"mean": "added ms", "std": "spread of a pair", "count": "pairs"})

# %% [markdown]
# ## Runs in the order of time
#
# A change of both arms of a pair comes from the machine, and pairs cancel it out.

# %%
canvas, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for arm, marker in markers.items():
    runs = measured.runs[measured.runs["arm"] == arm]
    face = "white" if arm == "off" else colors[arm]
    look = {"marker": marker, "edgecolor": colors[arm], "facecolor": face}
    axes.scatter(runs["at_s"] / 60, runs["cpu_ms"], label=arm, **look)
axes.set_ylim(bottom=0)
axes.set_xlabel("minutes since the session began")
axes.set_ylabel("CPU time of a request, ms")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()
