# %% [markdown]
# # The cost of keeping rows
#
# Published benchmarks of a store in Rust, beside our measurements of the same operations in Python. They ran on another
# machine, so only ratios can be compared. `docs/investigations.md` describes the frames, which are read from the
# chapters' `summary.json`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from evenkeel_lab.notebook import investigation

names = ["wal_reads", "wal_writes", "wal_disk", "pool", "dual", "dual_disk"]
names += ["transactions", "kinds", "batches", "disk_batches", "threads", "postgres", "durability"]
chapters = {name: investigation(f"store/{name}") for name in names}
verdicts = pd.concat({name: chapter.verdicts for name, chapter in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "baseline"]).sort_index()


def verdict_on(chapter: str, candidate: str) -> pd.Series:
    """Return the verdict on an arm against the baseline of its chapter."""
    return verdicts.loc[(chapter, candidate, chapters[chapter].investigation.baseline)]


# %% [markdown]
# ## Published ratios and ours
#
# The time of an operation as a multiple of the time of what it is compared with. Below 1 it takes less.

# %%
published = [
    ("wal_reads", "wal", "a read, WAL against DELETE", 19.18, 9.70),
    ("wal_writes", "wal", "a write, WAL against DELETE", 72.94, 16.81),
    ("pool", "pool_of_10", "a read, a pool against one connection", 9.68, 10.01),
    ("dual", "sequential", "a write, two stores against one", 17.24, 35.38),
    ("transactions", "immediate", "100 rows, IMMEDIATE against none", 1910.0, 890.0),
    ("transactions", "deferred", "100 rows, DEFERRED against none", 1910.0, 909.0),
]
rows = []
for chapter, arm, operation, baseline, candidate in published:
    verdict = verdict_on(chapter, arm)
    interval = f"{1 + verdict['low']:.2f} to {1 + verdict['high']:.2f}"
    ours = (verdict["baseline_value"], verdict["candidate_value"], 1 + verdict["effect"])
    rows.append((operation, baseline, candidate, candidate / baseline, *ours, interval))
columns = ["operation", "published us", "against", "published ratio", "our us", "with it", "our ratio", "interval"]
pd.DataFrame(rows, columns=columns).set_index("operation").round(2)

# %%
canvas, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for row, (chapter, arm, _, baseline, candidate) in enumerate(published):
    verdict = verdict_on(chapter, arm)
    axes.hlines(row, 1 + verdict["low"], 1 + verdict["high"], color="C0", linewidth=6)
    axes.plot(1 + verdict["effect"], row, "o", color="white", markeredgecolor="C0", label=None if row else "ours")
    axes.plot(candidate / baseline, row, "D", color="C1", label=None if row else "published")
axes.axvline(1, color="black", linewidth=1)
axes.set_xscale("log")
axes.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
axes.xaxis.set_minor_formatter("")
axes.set_yticks(range(len(published)), [operation for _, _, operation, _, _ in published])
axes.set_ylim(len(published) - 0.4, -0.6)
axes.set_xlabel("ratio")
axes.legend()
plt.show()

# %% [markdown]
# ## Rows in a transaction
#
# The median time of a row.

# %%
sizes = {"rows_1": 1, "rows_10": 10, "rows_100": 100, "rows_1000": 1000}
runs = chapters["batches"].runs
canvas, axes = plt.subplots(figsize=(7, 3), layout="constrained")
medians = runs.groupby("arm")["value"].median()
axes.plot(list(sizes.values()), [medians[arm] for arm in sizes], "o-", color="C0")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xlabel("rows in a transaction")
axes.set_ylabel("microseconds for a row")
plt.show()

# %% [markdown]
# ## Writing to Postgres
#
# A hundred rows of the journal at a time. Each commit waits until the disk is flushed.

# %%
runs = chapters["postgres"].runs
medians = runs.groupby("arm")["value"].median().sort_values(ascending=False)
pd.DataFrame({"microseconds for a row": medians, "rows a second": 1e6 / medians}).round(1)

# %% [markdown]
# ## Lost rows after a crash
#
# Of 2,000 rows a second, and the time of a row with the same guarantees. A power failure was not caused: its rows are
# the most that it can lose.

# %%
runs = chapters["durability"].runs
# The measured value is the number of lost rows plus one.
lost = runs.groupby("arm")["value"].agg(["median", "max"]) - 1
costs = chapters["disk_batches"].runs.groupby("arm")["value"].median()
written = {
    "killed": "batches",
    "power": "batches",
    "killed_flushed": "batches_flushed",
    "power_flushed": "batches_flushed",
    "killed_row_by_row": "row_by_row",
}
lost["us for a row"] = [costs[written[arm]] for arm in lost.index]
lost = lost.rename(columns={"median": "lost rows, median", "max": "maximum"})
lost.loc[list(chapters["durability"].investigation.arms)].round(1)

# %% [markdown]
# ## All chapters
#
# The cost of each arm as a multiple of the cost of its chapter's baseline.

# %%
arms = [
    (f"{name}: {arm}", verdict_on(name, arm))
    for name, chapter in chapters.items()
    for arm in chapter.investigation.arms
    if arm != chapter.investigation.baseline and name != "durability"
]
canvas, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
for row, (_, verdict) in enumerate(arms):
    axes.hlines(row, 1 + verdict["low"], 1 + verdict["high"], color="C0", linewidth=5)
    axes.plot(1 + verdict["effect"], row, "o", color="white", markeredgecolor="C0")
axes.axvline(1, color="black", linewidth=1)
axes.set_xscale("log")
ticks = np.array([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100])
axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
axes.xaxis.set_minor_formatter("")
axes.set_yticks(range(len(arms)), [name for name, _ in arms])
axes.set_ylim(len(arms) - 0.4, -0.6)
axes.set_xlabel("ratio")
plt.show()
