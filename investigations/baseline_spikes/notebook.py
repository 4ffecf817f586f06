# %% [markdown]
# # Latency without any callback
#
# The chapters of this study: a cold and a warm proxy, known and unknown end users, more clients, more workers, and
# settings that an operator can change. Each chapter compares its own arms. `docs/investigations.md` describes the
# frames, which are read from the chapters' `summary.json`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import draw_effect, investigation, label_rows
from evenkeel_lab.runner.results.queue_model import queueing

names = ["first_wave", "ten_each", "users_then", "key_cache", "users", "minimal", "concurrency", "workers", "cures"]
chapters = {name: investigation(f"baseline_spikes/{name}") for name in names}


def verdicts_on(chapter: str, figure: str) -> pd.DataFrame:
    """Return the verdicts on a metric of all arms of a chapter, without the second baseline."""
    verdicts, baseline = chapters[chapter].verdicts, chapters[chapter].investigation.baseline
    is_wanted = (verdicts["baseline"] == baseline) & (verdicts["candidate"] != "again")
    return verdicts[is_wanted & (verdicts["figure"] == figure)].set_index("candidate")


# %% [markdown]
# ## The first requests of a proxy
#
# A hundred requests at once, to a proxy that has just booted. Each mark is the mean latency of a run. Whether a request
# names its end user hardly matters. Whether the proxy has served requests before does.

# %%
cold = {
    "first_wave": ["none", "random", "created", "cached", "warm"],
    "ten_each": ["one_each", "ten_each", "ten_each_unnamed"],
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
# ## The cost of an end user
#
# With LiteLLM 1.81.8 (`users_then`, `key_cache`) and 1.106.2 (`users`), warm, and a hundred clients in a loop. The last
# two columns are operations of LiteLLM's database client for each request. In `created_large`, the end users are in the
# database, and the cache has room for all of them.

# %%
rows = []
for chapter in ["users_then", "key_cache", "users"]:
    operations, means = verdicts_on(chapter, "prisma_calls"), verdicts_on(chapter, "mean")
    for arm, verdict in means.iterrows():
        counts = operations.loc[arm, ["baseline_value", "candidate_value"]] if arm in operations.index else ("", "")
        rows.append((chapter, arm, *(100 * verdict[["effect", "low", "high"]]), verdict["kind"], *counts))
columns = ["chapter", "arm", "mean latency, %", "low", "high", "verdict", "operations without", "operations with"]
pd.DataFrame(rows, columns=columns).round(2)

# %% [markdown]
# ## More clients
#
# The marks are runs. The line is a queue with one server: its service time is the measured CPU time of a request, and
# its delay is the rest of the latency of a single client. Nothing is fitted.

# %%
runs = chapters["concurrency"].runs
measured = chapters["concurrency"].investigation
clients = {arm: measured.load_of(arm).users for arm in measured.arms}
canvas, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for arm, number in clients.items():
    of_arm = runs[runs["arm"] == arm]
    axes.plot([number] * len(of_arm), of_arm["mean"] / 1000, "o", color="C0", markerfacecolor="none")
queue = queueing(measured, chapters["concurrency"].summary.done)
numbers = range(1, max(clients.values()) + 1)
axes.plot(numbers, [queue.measured.latency(number) / 1000 for number in numbers], color="black", linewidth=1)
axes.set_xlabel("clients in a loop")
axes.set_ylabel("mean latency, s")
axes.set_ylim(bottom=0)
plt.show()

# %% [markdown]
# ## More workers
#
# Medians over the runs. The workers share two cores with the load, the mock and Postgres.

# %%
runs = chapters["workers"].runs
order = list(chapters["workers"].investigation.arms)
runs[runs["arm"].isin(order)].groupby("arm")[["throughput", "mean", "cpu_ms"]].median().loc[order].round(1)

# %% [markdown]
# ## Settings that an operator can change
#
# Each against a proxy with LiteLLM's Prometheus callback, under end users that it does not know. More throughput is
# better, and less latency.

# %%
canvas, plots = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
order = list(verdicts_on("cures", "throughput").sort_values("low", ascending=False).index)
for number, (axes, figure) in enumerate(zip(plots, ["throughput", "p95", "cpu_ms"], strict=True)):
    judged = verdicts_on("cures", figure)
    for row, arm in enumerate(order):
        if arm in judged.index:
            draw_effect(axes, row, judged.loc[arm], color=f"C{number}")
    label_rows(axes, order)
    axes.set_xlabel(f"{figure}, %")
plt.show()
