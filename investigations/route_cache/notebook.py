# %% [markdown]
# # What it brings to remember routes
#
# A pick alone, its share of a request, and what a whole proxy loses when it looks each list of candidates through. All
# of it is read from the chapters' `summary.json`; `docs/investigations.md` describes the frames.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import investigation

names = ["picks_3", "picks_500", "picks_many", "share_3", "share_500"]
names += ["groups", "proxy_3", "proxy_500", "proxy_500_longer", "proxy_many"]
chapters = {name: investigation(f"route_cache/{name}") for name in names}
verdicts = pd.concat({name: one.verdicts for name, one in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "figure"]).sort_index()
where = {
    "3": "3 groups of 3 accounts",
    "500": "500 groups of 3 accounts",
    "many": "3 groups of 1,000 accounts",
}

# %% [markdown]
# ## A pick
#
# Microseconds, with what is remembered and without; and how many times as long it takes without.

# %%
rows = []
for name, told in where.items():
    one = verdicts.loc[(f"picks_{name}", "off", "value")]
    interval = f"{1 + one['low']:.1f} to {1 + one['high']:.1f}"
    rows.append((told, one["baseline_value"], one["candidate_value"], 1 + one["effect"], interval))
pd.DataFrame(rows, columns=["where", "remembered, us", "looked through, us", "times", "interval"]).set_index(
    "where"
).round(1)

# %% [markdown]
# ## Its share of a request
#
# Of a request whose provider takes 10 ms, by a client that waits for each answer. What the seeds of this project have
# found of a gateway in C++ stands beside it: less than 0.01 % with three routes, 0.02 % with five hundred.

# %%
rows = []
for name in ("3", "500"):
    for arm, told in (("on", "remembered"), ("off", "looked through"), ("saved", "saved by remembering")):
        one = verdicts.loc[(f"share_{name}", arm, "value")]
        shares = [100 * (1 + one[end]) for end in ("effect", "low", "high")]
        rows.append((where[name], told, one["baseline_value"] / 1000, one["candidate_value"] / 1000, *shares))
columns = ["where", "pick", "request, ms", "pick, ms", "share, %", "from", "to"]
pd.DataFrame(rows, columns=columns).set_index(["where", "pick"]).round(3)

# %% [markdown]
# ## By the number of groups
#
# What a proxy loses that has five hundred groups instead of three, with what is remembered.

# %%
figures = ["throughput", "mean", "p95", "cpu_ms", "memory_mib"]
table = verdicts.loc[["groups"]].reset_index("chapter", drop=True).reset_index()
table = table[(table["candidate"] == "five_hundred") & table["figure"].isin(figures)]
table.set_index("figure")[["baseline_value", "candidate_value", "effect", "low", "high", "kind"]].round(3)

# %% [markdown]
# ## Through a proxy
#
# What a proxy loses that looks each list through, under twenty clients in a loop. With five hundred groups it was
# measured twice, because ten pairs had left it open; the second time with twenty pairs of runs of twice the length.

# %%
proxies = {
    "proxy_3": where["3"],
    "proxy_500": where["500"],
    "proxy_500_longer": f"{where['500']}, for longer",
    "proxy_many": where["many"],
}
figures = ["throughput", "mean", "p95", "cpu_ms"]
table = verdicts.loc[list(proxies)].reset_index()
table = table[(table["candidate"] == "off") & table["figure"].isin(figures)]
table.set_index(["chapter", "figure"])[["baseline_value", "candidate_value", "effect", "low", "high", "kind"]].round(3)

# %%
canvas, axes = plt.subplots(1, len(figures), figsize=(10, 2.6), layout="constrained", sharey=True)
for place, figure in zip(axes, figures, strict=True):
    for row, name in enumerate(proxies):
        if (name, "off", figure) not in verdicts.index:
            continue
        one = verdicts.loc[(name, "off", figure)]
        place.hlines(row, 100 * one["low"], 100 * one["high"], color="C0", linewidth=5)
        place.plot(100 * one["effect"], row, "o", color="white", markeredgecolor="C0")
    place.axvline(0, color="black", linewidth=1)
    place.set_title(figure, fontsize=9)
    place.set_xlabel("%")
axes[0].set_yticks(range(len(proxies)), list(proxies.values()))
axes[0].set_ylim(len(proxies) - 0.5, -0.5)
plt.show()

# %% [markdown]
# ## From how many accounts on
#
# A request's CPU time with three accounts in a group and with a thousand, in milliseconds, and a line between the two:
# for LiteLLM's own work, and for what looking lists through adds. Nobody has measured between them, and at three
# accounts the difference is hardly to be told from none. Where the one is a twentieth of the other, it would matter.

# %%
few, many = (verdicts.loc[(name, "off", "cpu_ms")] for name in ("proxy_3", "proxy_many"))
own = (many["baseline_value"] - few["baseline_value"]) / (1000 - 3)
looking = (many["candidate_value"] - many["baseline_value"]) / 1000
at_none = few["baseline_value"] - 3 * own
matters = 0.05
pd.Series(
    {
        "a request without any": at_none,
        "LiteLLM's own work for each account": own,
        "looking at it": looking,
        "accounts from which on it matters": matters * at_none / (looking - matters * own),
    }
).round(3)
