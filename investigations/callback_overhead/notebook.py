# %% [markdown]
# # The cost of a Prometheus callback
#
# The chapters of this study: the same callback under loads that show its cost and loads that hide it, the parts of its
# cost, three repairs, and its cost in later versions. Each chapter compares its own arms. `docs/investigations.md`
# describes the frames, which are read from the chapters' `summary.json`.

# %%
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from evenkeel_lab.notebook import draw_effect, investigation, label_rows

loads = ["bug", "queue", "random_ids", "sequential_ids", "fast_provider", "uneven_provider", "slow_provider"]
chapters = {
    name: investigation(f"callback_overhead/{name}") for name in [*loads, "parts", "mends", "upstream_fix", "today"]
}
verdicts = pd.concat({name: chapter.verdicts for name, chapter in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "baseline", "figure"]).sort_index()


def draw(axes: Axes, arms: dict[str, tuple[str, str, str]], figure: str, color: str) -> None:
    """Draw the verdicts on a metric. `arms` has a chapter, a candidate and a baseline for each label."""
    for row, arm in enumerate(arms.values()):
        if (*arm, figure) in verdicts.index:
            draw_effect(axes, row, verdicts.loc[(*arm, figure)], color=color)
    label_rows(axes, list(arms))
    axes.set_xlabel(f"{figure}, %")


# %% [markdown]
# ## The same callback under seven loads
#
# LiteLLM 1.81.8 with its callback, against no callback. Where requests wait for the proxy, they wait longer. Where they
# wait for the provider, latency hardly changes, although each request takes more CPU time.

# %%
figures = ["throughput", "p50", "p95", "cpu_ms"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3.6), sharey=True, layout="constrained")
for number, (axes, figure) in enumerate(zip(plots, figures, strict=True)):
    draw(axes, {name: (name, "stock", "off") for name in loads}, figure, f"C{number}")
plt.show()

# %% [markdown]
# ## Database operations
#
# Operations of LiteLLM's database client for each request. One of them is the callback's lookup of the user. The pages
# of the chapters list the others.

# %%
operations = verdicts.reset_index()
operations = operations[(operations["figure"] == "prisma_calls") & (operations["candidate"] != "again")]
baselines = operations["chapter"].map(lambda name: chapters[name].investigation.baseline)
operations = operations[operations["baseline"] == baselines]
operations[["chapter", "candidate", "baseline_value", "candidate_value"]].round(2)

# %% [markdown]
# ## Parts of the cost
#
# Each arm of the chapter `parts` leaves out one part of the callback. Shares of the whole cost, with their intervals.

# %%
costs = chapters["parts"].costs
costs = costs[(costs["figure"] == "cpu_ms") & (costs["piece"] != "total")]
canvas, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
axes.hlines(costs["piece"], 100 * costs["share_low"], 100 * costs["share_high"], color="C1", linewidth=5)
axes.plot(100 * costs["share"], costs["piece"], "o", color="white", markeredgecolor="C1")
axes.axvline(0, color="black", linewidth=1)
axes.set_xlabel("share of the CPU time that the callback adds to a request, %")
axes.margins(y=0.3)
plt.show()

# %% [markdown]
# ## Repairs
#
# Three repairs that were considered, and no callback at all, against the callback as it was. More throughput is better.

# %%
baseline = chapters["mends"].investigation.baseline
mends = {arm: ("mends", arm, baseline) for arm in chapters["mends"].investigation.arms if arm != baseline}
canvas, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
draw(axes, mends, "throughput", "C2")
plt.show()

# %% [markdown]
# ## Later versions
#
# Each version against itself without callbacks. The last row is the plugin's callback.

# %%
steps = [("bug", "stock"), ("upstream_fix", "stock"), ("today", "stock"), ("today", "evenkeel")]
versions = {
    f"{chapters[chapter].investigation.arms[arm].litellm}, {arm}": (chapter, arm, "off") for chapter, arm in steps
}
canvas, plots = plt.subplots(1, 3, figsize=(11, 2.6), sharey=True, layout="constrained")
for number, (axes, figure) in enumerate(zip(plots, ["throughput", "p50", "cpu_ms"], strict=True)):
    draw(axes, versions, figure, f"C{number}")
plt.show()
