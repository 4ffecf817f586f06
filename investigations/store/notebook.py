# %% [markdown]
# # What keeping rows costs: theirs beside ours
#
# The benchmarks that these chapters repeat are in Rust, on another machine: of their times only the ratios can be held
# beside ours. All of ours is read from the chapters' `summary.json`; `docs/investigations.md` describes the frames.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from evenkeel_lab.notebook import investigation

names = ["wal_reads", "wal_writes", "wal_disk", "pool", "dual", "dual_disk"]
names += ["transactions", "kinds", "batches", "disk_batches", "threads", "postgres", "durability"]
chapters = {name: investigation(f"store/{name}") for name in names}
verdicts = pd.concat({name: one.verdicts for name, one in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "baseline"]).sort_index()


def told(chapter: str, candidate: str) -> pd.Series:
    """Return what a chapter says of an arm against its baseline."""
    return verdicts.loc[(chapter, candidate, chapters[chapter].investigation.baseline)]


# %% [markdown]
# ## Theirs beside ours
#
# How many times as much something costs as what it is compared with; below 1 it costs less.

# %%
theirs = [
    ("wal_reads", "wal", "a read, WAL against DELETE", 19.18, 9.70),
    ("wal_writes", "wal", "a write, WAL against DELETE", 72.94, 16.81),
    ("pool", "pool", "a read, a pool against one connection", 9.68, 10.01),
    ("dual", "sequential", "a write, two stores against one", 17.24, 35.38),
    ("transactions", "immediate", "100 rows, IMMEDIATE against none", 1910.0, 890.0),
    ("transactions", "deferred", "100 rows, DEFERRED against none", 1910.0, 909.0),
]
rows = []
for chapter, arm, what, baseline, candidate in theirs:
    one = told(chapter, arm)
    interval = f"{1 + one['low']:.2f} to {1 + one['high']:.2f}"
    times = (one["baseline_value"], one["candidate_value"])
    rows.append((what, baseline, candidate, candidate / baseline, *times, 1 + one["effect"], interval))
columns = ["what", "their us", "against", "their ratio", "our us", "with it", "our ratio", "interval"]
pd.DataFrame(rows, columns=columns).set_index("what").round(2)

# %%
canvas, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for row, (chapter, arm, _, baseline, candidate) in enumerate(theirs):
    one = told(chapter, arm)
    axes.hlines(row, 1 + one["low"], 1 + one["high"], color="C0", linewidth=6)
    axes.plot(1 + one["effect"], row, "o", color="white", markeredgecolor="C0", label=None if row else "ours")
    axes.plot(candidate / baseline, row, "D", color="C1", label=None if row else "theirs")
axes.axvline(1, color="black", linewidth=1)
axes.set_xscale("log")
axes.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
axes.xaxis.set_minor_formatter("")
axes.set_yticks(range(len(theirs)), [what for _, _, what, _, _ in theirs])
axes.set_ylim(len(theirs) - 0.4, -0.6)
axes.set_xlabel("times what it is compared with")
axes.legend()
plt.show()

# %% [markdown]
# ## How many rows together
#
# Microseconds for each row, by how many are written in a transaction.

# %%
sizes = {"one": 1, "ten": 10, "hundred": 100, "thousand": 1000}
runs = chapters["batches"].runs
canvas, axes = plt.subplots(figsize=(7, 3), layout="constrained")
medians = runs.groupby("arm")["value"].median()
axes.plot(list(sizes.values()), [medians[arm] for arm in sizes], "o-", color="C0")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xlabel("rows in a transaction")
axes.set_ylabel("microseconds a row")
plt.show()

# %% [markdown]
# ## Ways into Postgres
#
# A hundred rows of the journal; the disk is waited for at each commit.

# %%
runs = chapters["postgres"].runs
medians = runs.groupby("arm")["value"].median().sort_values(ascending=False)
pd.DataFrame({"microseconds a row": medians, "rows a second": 1e6 / medians}).round(1)

# %% [markdown]
# ## What a crash takes
#
# Rows that are lost of 2,000 in each second, and what it costs to lose fewer. A loss of power was not staged: it may
# take so many.

# %%
runs = chapters["durability"].runs
# One more is counted in each run.
lost = runs.groupby("arm")["value"].agg(["median", "max"]) - 1
costs = chapters["disk_batches"].runs.groupby("arm")["value"].median()
written = {"killed": "batches", "power": "batches", "killed_full": "batches_full", "power_full": "batches_full"}
written |= {"killed_single": "single"}
lost["us a row"] = [costs[written[arm]] for arm in lost.index]
lost = lost.rename(columns={"median": "rows lost", "max": "at worst"})
lost.loc[list(chapters["durability"].investigation.arms)].round(1)

# %% [markdown]
# ## All of it
#
# Each arm against its chapter's baseline: how many times as much it costs.

# %%
shown = [
    (f"{name}: {arm}", told(name, arm))
    for name, one in chapters.items()
    for arm in one.investigation.arms
    if arm != one.investigation.baseline and name != "durability"
]
canvas, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
for row, (_, one) in enumerate(shown):
    axes.hlines(row, 1 + one["low"], 1 + one["high"], color="C0", linewidth=5)
    axes.plot(1 + one["effect"], row, "o", color="white", markeredgecolor="C0")
axes.axvline(1, color="black", linewidth=1)
axes.set_xscale("log")
ticks = np.array([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100])
axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
axes.xaxis.set_minor_formatter("")
axes.set_yticks(range(len(shown)), [name for name, _ in shown])
axes.set_ylim(len(shown) - 0.4, -0.6)
axes.set_xlabel("times what its baseline costs")
plt.show()
