# %% [markdown]
# # Why a proxy is slow without any callback
#
# The chapters of this study side by side: a cold proxy and a warm one, users that are known and unknown, more clients,
# more workers, and what an operator can do. Each chapter compares within itself; what is drawn here are their runs and
# their verdicts. All of it is read from the chapters' `summary.json`; `docs/investigations.md` describes the frames.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import investigation
from evenkeel_lab.runner.results.queue_model import queueing

names = ["first_wave", "ten_each", "users_then", "key_cache", "users", "minimal", "concurrency", "workers", "cures"]
chapters = {name: investigation(f"baseline_spikes/{name}") for name in names}


def effects(chapter: str, figure: str) -> pd.DataFrame:
    """Return what a chapter says of its arms in one figure, the arm that is the same again left out."""
    found = chapters[chapter].verdicts
    asked = chapters[chapter].investigation
    chosen = (found["figure"] == figure) & (found["baseline"] == asked.baseline) & (found["candidate"] != "again")
    return found[chosen].set_index("candidate")


# %% [markdown]
# ## The first wave
#
# A hundred requests at once, to a proxy that was just booted: each mark is a run's mean latency. Whether a request says
# from whom it is changes what the database is asked, and not much more; whether the proxy has served before does.

# %%
cold = {
    "first_wave": ["none", "random", "created", "cached", "warm"],
    "ten_each": ["once", "ten", "ten_unnamed"],
}
canvas, plots = plt.subplots(1, 2, figsize=(11, 3.2), width_ratios=(2, 1), layout="constrained")
for axes, (chapter, arms) in zip(plots, cold.items(), strict=True):
    runs = chapters[chapter].runs
    for row, arm in enumerate(arms):
        values = runs[runs["arm"] == arm]["mean"] / 1000
        axes.plot(values, [row] * len(values), "o", color=f"C{row}", markerfacecolor="none")
    axes.set_yticks(range(len(arms)), arms)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{chapter}: mean latency of a run, s")
plt.show()

# %% [markdown]
# ## What a user costs, then and now
#
# LiteLLM 1.81.8 (`users_then`, `key_cache`) and 1.106.2 (`users`), warm, with a hundred clients in a loop. The last two
# columns have the operations of LiteLLM's database client for each request. `created_large` are users whom the database
# knows, and a cache that has room for all of them.

# %%
shown = []
for chapter in ["users_then", "key_cache", "users"]:
    calls, mean = effects(chapter, "prisma_calls"), effects(chapter, "mean")
    for arm in mean.index:
        one, asked = mean.loc[arm], calls.loc[arm] if arm in calls.index else None
        told = (chapter, arm, *(100 * one[["effect", "low", "high"]]), one["kind"])
        shown.append((*told, *(asked[["baseline_value", "candidate_value"]] if asked is not None else ("", ""))))
columns = ["chapter", "arm", "mean latency, %", "low", "high", "verdict", "calls without", "calls with it"]
pd.DataFrame(shown, columns=columns).round(2)

# %% [markdown]
# ## A queue
#
# The marks are runs; the line is what one server in front of a fixed delay would do. Its service time is the CPU time
# of a request as it was measured, its delay what is left of the latency of a single client: nothing is fitted.

# %%
runs = chapters["concurrency"].runs
asked = chapters["concurrency"].investigation
arms = {name: asked.load_of(name).users for name in asked.arms}
canvas, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for arm, users in arms.items():
    found = runs[runs["arm"] == arm]
    axes.plot([users] * len(found), found["mean"] / 1000, "o", color="C0", markerfacecolor="none")
queue = queueing(asked, chapters["concurrency"].summary.done)
users = range(1, max(arms.values()) + 1)
axes.plot(users, [queue.measured.latency(count) / 1000 for count in users], color="black", linewidth=1)
axes.set_xlabel("clients in a loop")
axes.set_ylabel("mean latency, s")
axes.set_ylim(bottom=0)
plt.show()

# %% [markdown]
# ## Workers
#
# Requests a second, run by run. Two cores are shared by the workers, the load, the mock and Postgres.

# %%
runs = chapters["workers"].runs
order = list(chapters["workers"].investigation.arms)
runs[runs["arm"].isin(order)].groupby("arm")[["throughput", "mean", "cpu_ms"]].median().loc[order].round(1)

# %% [markdown]
# ## What an operator can do
#
# Against a proxy as it is, with LiteLLM's Prometheus callback, under users whom it does not know. More throughput is
# better, less latency is.

# %%
canvas, plots = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
order = effects("cures", "throughput").sort_values("low", ascending=False).index
for number, (axes, figure) in enumerate(zip(plots, ["throughput", "p95", "cpu_ms"], strict=True)):
    judged = effects("cures", figure)
    for row, arm in enumerate(order):
        if arm in judged.index:
            one = judged.loc[arm]
            axes.barh(row, 200 * one["margin"], left=-100 * one["margin"], height=0.9, color="0.92")
            axes.hlines(row, 100 * one["low"], 100 * one["high"], color=f"C{number}", linewidth=5)
            axes.plot(100 * one["effect"], row, "o", color="white", markeredgecolor=f"C{number}")
    axes.axvline(0, color="black", linewidth=1)
    axes.set_xlabel(f"{figure}, %")
plots[0].set_yticks(range(len(order)), order)
plots[0].set_ylim(len(order) - 0.4, -0.6)
plt.show()
