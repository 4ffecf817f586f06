# %% [markdown]
# # The age of a snapshot of the accounts
#
# The cost of fresh snapshots by clients and accounts, the cost of sessions, journal and access log, the latency of
# small requests and streams, and the requests that still reach a dead account. `docs/investigations.md` describes the
# frames, which are read from the chapters' `summary.json`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import MeasuredInvestigation, draw_effect, investigation, label_rows

CLIENTS, ACCOUNTS = (20, 50, 100), (10, 100, 1000)
grid = {
    (clients, accounts): investigation(f"snapshot_ttl/clients_{clients}_accounts_{accounts}")
    for accounts in ACCOUNTS
    for clients in CLIENTS
}
per_request = ["pins_new", "pins_known", "journal", "journal_batches", "access_log", "connections", "workers"]
per_request += ["workers_rows"]
chapters = {
    name: investigation(f"snapshot_ttl/{name}")
    for name in [*per_request, "compact", "streams", "dead", "dead_at_proxy"]
}


def verdict_on(chapter: MeasuredInvestigation, candidate: str, figure: str) -> pd.Series | None:
    """Return the verdict on a metric of an arm against the baseline; `None` if there is none."""
    verdicts, baseline = chapter.verdicts, chapter.investigation.baseline
    is_wanted = (verdicts["candidate"] == candidate) & (verdicts["baseline"] == baseline)
    wanted = verdicts[is_wanted & (verdicts["figure"] == figure)]
    return None if wanted.empty or wanted["effect"].isna().all() else wanted.iloc[0]


# %% [markdown]
# ## By clients and accounts
#
# The effect on the mean latency, against a snapshot that is used for one second. The margin is grey.

# %%
canvas, panels = plt.subplots(3, 3, figsize=(10, 5.5), layout="constrained", sharex=True, sharey=True)
arms = {"each_request": "each request", "ttl_5_s": "5 s", "ttl_10_s": "10 s"}
for (clients, accounts), chapter in grid.items():
    axes = panels[ACCOUNTS.index(accounts), CLIENTS.index(clients)]
    for row, arm in enumerate(arms):
        verdict = verdict_on(chapter, arm, "mean")
        if verdict is not None:
            draw_effect(axes, row, verdict)
    label_rows(axes, list(arms.values()))
    axes.set_title(f"{clients} clients, {accounts:,} accounts", fontsize=9)
for axes in panels[-1]:
    axes.set_xlabel("mean latency, %")
plt.show()

# %% [markdown]
# ## Work for each request
#
# The effects of each arm against the baseline of its chapter.

# %%
rows = []
for name in per_request:
    for arm in chapters[name].investigation.arms:
        for figure in ("throughput", "mean", "p95", "cpu_ms"):
            verdict = verdict_on(chapters[name], arm, figure)
            if verdict is not None:
                effects = [100 * verdict[end] for end in ("effect", "low", "high")]
                rows.append((name, arm, figure, *effects, verdict["kind"]))
columns = ["chapter", "arm", "figure", "effect, %", "from", "to", "verdict"]
pd.DataFrame(rows, columns=columns).set_index(["chapter", "arm", "figure"]).round(1)

# %% [markdown]
# ## Small requests and streams
#
# The mean over the runs of each arm.

# %%
latencies = {"compact": ["p50", "p95", "p99"], "streams": ["ttft_p50", "ttft_p99", "p50", "p95", "p99"]}
others = ["throughput", "cpu_ms", "memory_mib", "error_rate", "lock_waits", "journal_locked"]
for name, figures in latencies.items():
    runs = chapters[name].runs
    known = [figure for figure in [*figures, *others] if figure in runs]
    means = runs.groupby("arm")[known].mean()
    print(means.loc[list(chapters[name].investigation.arms)].round(2).to_string(), end="\n\n")

# %% [markdown]
# ## An account that dies
#
# The time until its last refusal is back, if failures count at once, and if they are read with the next snapshot.

# %%
dead = chapters["dead"]
runs = dead.runs.groupby("arm")["value"]
pd.DataFrame({"median, ms": runs.median(), "maximum, ms": runs.max()}).loc[list(dead.investigation.arms)].round(0)

# %% [markdown]
# The requests to five accounts of ten at a proxy within ten seconds after their keys were revoked, plus one.

# %%
dead = chapters["dead_at_proxy"]
runs = dead.runs.groupby("arm")["value"]
pd.DataFrame({"mean": runs.mean(), "maximum": runs.max()}).loc[list(dead.investigation.arms)].round(1)
