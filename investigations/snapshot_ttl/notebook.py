# %% [markdown]
# # How old a snapshot of the accounts may be
#
# What fresh snapshots cost by clients and accounts, what pins, rows and lines about each request cost, how small
# requests and streams are answered, and for how long an account that has died is still asked. All of it is read from
# the chapters' `summary.json`; `docs/investigations.md` describes the frames.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import MeasuredInvestigation, investigation

clients, accounts = (20, 50, 100), (10, 100, 1000)
grid = {(many, of): investigation(f"snapshot_ttl/clients_{many}_accounts_{of}") for of in accounts for many in clients}
beside = ["pins_new", "pins_known", "journal", "journal_batches", "access_log", "connections", "workers"]
beside += ["workers_rows"]
names = [*beside, "compact", "streams", "dead", "dead_at_proxy"]
chapters = {name: investigation(f"snapshot_ttl/{name}") for name in names}


def told(chapter: MeasuredInvestigation, candidate: str, figure: str) -> pd.Series | None:
    """Return what a chapter says of an arm against its baseline; None where it cannot be told."""
    all_of_it = chapter.verdicts
    of_it = all_of_it[(all_of_it["candidate"] == candidate) & (all_of_it["figure"] == figure)]
    of_it = of_it[of_it["baseline"] == chapter.investigation.baseline]
    return None if of_it.empty or of_it["effect"].isna().all() else of_it.iloc[0]


# %% [markdown]
# ## By clients and accounts
#
# The mean latency against that with a snapshot of at most one second, in percent, with its interval; the grey band is
# what does not matter.

# %%
canvas, places = plt.subplots(3, 3, figsize=(10, 5.5), layout="constrained", sharex=True, sharey=True)
arms = {"ttl_0": "each request", "ttl_5": "5 s", "ttl_10": "10 s"}
for (many, of), chapter in grid.items():
    axes = places[accounts.index(of), clients.index(many)]
    axes.axvspan(-5, 5, color="0.9")
    axes.axvline(0, color="black", linewidth=1)
    for row, arm in enumerate(arms):
        one = told(chapter, arm, "mean")
        if one is not None:
            axes.hlines(row, 100 * one["low"], 100 * one["high"], color="C0", linewidth=4)
            axes.plot(100 * one["effect"], row, "o", color="white", markeredgecolor="C0")
    axes.set_title(f"{many} clients, {of:,} accounts", fontsize=9)
    axes.set_yticks(range(len(arms)), list(arms.values()))
    axes.set_ylim(len(arms) - 0.5, -0.5)
for axes in places[-1]:
    axes.set_xlabel("mean latency, %")
plt.show()

# %% [markdown]
# ## What is done for each request
#
# Each arm against its chapter's baseline.

# %%
rows = []
for name in beside:
    for arm in chapters[name].investigation.arms:
        for figure in ("throughput", "mean", "p95", "cpu_ms"):
            one = told(chapters[name], arm, figure)
            if one is not None:
                effects = [100 * one[end] for end in ("effect", "low", "high")]
                rows.append((name, arm, figure, *effects, one["kind"]))
columns = ["chapter", "arm", "figure", "effect, %", "from", "to", "verdict"]
pd.DataFrame(rows, columns=columns).set_index(["chapter", "arm", "figure"]).round(1)

# %% [markdown]
# ## Small requests and streams
#
# Means of the runs of each arm.

# %%
shown = {"compact": ["p50", "p95", "p99"], "streams": ["ttft_p50", "ttft_p99", "p50", "p95", "p99"]}
beside = ["throughput", "cpu_ms", "memory_mib", "error_rate", "lock_waits", "journal_locked"]
for name, figures in shown.items():
    runs = chapters[name].runs
    there = [one for one in [*figures, *beside] if one in runs]
    means = runs.groupby("arm")[there].mean()
    print(means.loc[list(chapters[name].investigation.arms)].round(2).to_string(), end="\n\n")

# %% [markdown]
# ## An account that has died
#
# After how many milliseconds its last refusal is back, where its failure counts at once, and where it is read with the
# next snapshot.

# %%
dead = chapters["dead"]
runs = dead.runs.groupby("arm")["value"]
pd.DataFrame({"median, ms": runs.median(), "at worst, ms": runs.max()}).loc[list(dead.investigation.arms)].round(0)

# %% [markdown]
# And how many requests reach five accounts of ten at a proxy, each in the ten seconds after its key was revoked (and
# one more).

# %%
dead = chapters["dead_at_proxy"]
runs = dead.runs.groupby("arm")["value"]
pd.DataFrame({"mean": runs.mean(), "at worst": runs.max()}).loc[list(dead.investigation.arms)].round(1)
