# %% [markdown]
# # What a Prometheus callback costs a proxy, and why
#
# The chapters of this study side by side: the same callback under loads that show it and loads that hide it, what it is
# made of, what mends it, and what is left of it today. Each chapter compares within itself, in duets; what is drawn
# here are their verdicts. All of it is read from the chapters' `summary.json`; `docs/investigations.md` describes the
# frames.

# %%
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from evenkeel_lab.notebook import investigation

loads = ["bug", "queue", "random_ids", "sequential_ids", "fast_provider", "uneven_provider", "slow_provider"]
chapters = {
    name: investigation(f"callback_overhead/{name}") for name in [*loads, "parts", "mends", "upstream_fix", "today"]
}
verdicts = pd.concat({name: one.verdicts for name, one in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "baseline", "figure"]).sort_index()


def told(chapter: str, figure: str, candidate: str = "stock", baseline: str = "off") -> pd.Series:
    """Return what one chapter says of one figure."""
    return verdicts.loc[(chapter, candidate, baseline, figure)]


def draw(axes: Axes, rows: list[tuple[str, str]], figure: str, color: str) -> None:
    """Draw what those chapters that judge a figure say of it: intervals, and the field of what does not matter."""
    for row, (chapter, candidate) in enumerate(rows):
        if (chapter, candidate, "off", figure) not in verdicts.index:
            continue
        one = told(chapter, figure, candidate)
        axes.barh(row, 200 * one["margin"], left=-100 * one["margin"], height=0.9, color="0.92")
        axes.hlines(row, 100 * one["low"], 100 * one["high"], color=color, linewidth=5)
        axes.plot(100 * one["effect"], row, "o", color="white", markeredgecolor=color)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_ylim(len(rows) - 0.4, -0.6)


# %% [markdown]
# ## The same callback under seven loads
#
# LiteLLM 1.81.8 with its callback against none. Where requests wait for the proxy, they wait longer by what the
# callback adds. Where they wait for the provider, hardly anybody notices, though a request costs more CPU in all of
# them.

# %%
figures = ["throughput", "p50", "p95", "cpu_ms"]
canvas, plots = plt.subplots(1, len(figures), figsize=(11, 3.6), sharey=True, layout="constrained")
for number, (axes, figure) in enumerate(zip(plots, figures, strict=True)):
    draw(axes, [(name, "stock") for name in loads], figure, f"C{number}")
    axes.set_xlabel(f"{figure}, % against off")
plots[0].set_yticks(range(len(loads)), loads)
plt.show()

# %% [markdown]
# ## What the database is asked
#
# Operations of LiteLLM's database client for each request. One of them is the lookup of the user that the callback
# makes; what it asks beyond that, and when, is in each chapter's page.

# %%
rows = []
for name, one in chapters.items():
    for (baseline, candidate), found in one.verdicts[one.verdicts["figure"] == "prisma_calls"].groupby(
        ["baseline", "candidate"]
    ):
        if baseline == one.investigation.baseline and candidate != "again":
            values = found.iloc[0]
            rows.append((name, candidate, values["baseline_value"], values["candidate_value"]))
pd.DataFrame(rows, columns=["chapter", "arm", "off", "with it"]).round(2)

# %% [markdown]
# ## What the cost is made of
#
# The chapter `parts` leaves one part of the callback out at a time. Shares of the whole, with their intervals.

# %%
costs = chapters["parts"].costs
costs = costs[(costs["figure"] == "cpu_ms") & (costs["piece"] != "total")]
canvas, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
axes.hlines(costs["piece"], 100 * costs["share_low"], 100 * costs["share_high"], color="C1", linewidth=5)
axes.plot(100 * costs["share"], costs["piece"], "o", color="white", markeredgecolor="C1")
axes.axvline(0, color="black", linewidth=1)
axes.set_xlabel("share of what the callback adds to the CPU of a request, %")
axes.margins(y=0.3)
plt.show()

# %% [markdown]
# ## What mends it
#
# The three ways out that were considered, and no callback at all, against the callback as it was. More throughput is
# better.

# %%
mends = [name for name in chapters["mends"].investigation.arms if name != chapters["mends"].investigation.baseline]
canvas, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for row, arm in enumerate(mends):
    one = told("mends", "throughput", arm, chapters["mends"].investigation.baseline)
    axes.hlines(row, 100 * one["low"], 100 * one["high"], color="C2", linewidth=5)
    axes.plot(100 * one["effect"], row, "o", color="white", markeredgecolor="C2")
axes.axvline(0, color="black", linewidth=1)
axes.set_yticks(range(len(mends)), mends)
axes.set_ylim(len(mends) - 0.4, -0.6)
axes.set_xlabel(f"throughput, % against {chapters['mends'].investigation.baseline}")
plt.show()

# %% [markdown]
# ## Version by version
#
# Each version against itself without callbacks; the last is ours.

# %%
steps = [("bug", "stock"), ("upstream_fix", "stock"), ("today", "stock"), ("today", "evenkeel")]
names = [f"{chapters[chapter].investigation.arms[arm].litellm}, {arm}" for chapter, arm in steps]
canvas, plots = plt.subplots(1, 3, figsize=(11, 2.6), sharey=True, layout="constrained")
for number, (axes, figure) in enumerate(zip(plots, ["throughput", "p50", "cpu_ms"], strict=True)):
    draw(axes, steps, figure, f"C{number}")
    axes.set_xlabel(f"{figure}, % against off")
plots[0].set_yticks(range(len(steps)), names)
plt.show()
