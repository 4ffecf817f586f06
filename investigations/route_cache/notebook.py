# %% [markdown]
# # Effects of the route cache
#
# The time of a pick, its share of a request, and the effect on a whole proxy. Without the cache, each pick searches all
# deployments for the candidates of the request. `docs/investigations.md` describes the frames, which are read from the
# chapters' `summary.json`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from evenkeel_lab.notebook import draw_effect, investigation, label_rows

names = ["picks_3", "picks_500", "picks_many", "share_3", "share_500"]
names += ["groups", "proxy_3", "proxy_500", "proxy_500_longer", "proxy_many"]
chapters = {name: investigation(f"route_cache/{name}") for name in names}
verdicts = pd.concat({name: chapter.verdicts for name, chapter in chapters.items()}, names=["chapter"])
verdicts = verdicts.reset_index("chapter").set_index(["chapter", "candidate", "figure"]).sort_index()
deployments = {
    "3": "3 groups of 3 accounts",
    "500": "500 groups of 3 accounts",
    "many": "3 groups of 1,000 accounts",
}

# %% [markdown]
# ## Time of a pick
#
# In microseconds, with the cache and without it. The factor is the time without the cache, relative to that with it.

# %%
rows = []
for name, described in deployments.items():
    verdict = verdicts.loc[(f"picks_{name}", "off", "value")]
    interval = f"{1 + verdict['low']:.1f} to {1 + verdict['high']:.1f}"
    values = (verdict["baseline_value"], verdict["candidate_value"])
    rows.append((described, *values, 1 + verdict["effect"], interval))
columns = ["deployments", "with the cache, us", "without it, us", "factor", "interval"]
pd.DataFrame(rows, columns=columns).set_index("deployments").round(1)

# %% [markdown]
# ## Share of a request
#
# Of a request whose provider takes 10 ms, by a client that waits for each answer. A gateway in C++, with which this
# project began, reported less than 0.01 % with three routes, and 0.02 % with five hundred.

# %%
picks = {"on": "with the cache", "off": "without it", "saved": "saved by the cache"}
rows = []
for name in ("3", "500"):
    for arm, described in picks.items():
        verdict = verdicts.loc[(f"share_{name}", arm, "value")]
        shares = [100 * (1 + verdict[end]) for end in ("effect", "low", "high")]
        milliseconds = (verdict["baseline_value"] / 1000, verdict["candidate_value"] / 1000)
        rows.append((deployments[name], described, *milliseconds, *shares))
columns = ["deployments", "pick", "request, ms", "pick, ms", "share, %", "from", "to"]
pd.DataFrame(rows, columns=columns).set_index(["deployments", "pick"]).round(3)

# %% [markdown]
# ## Five hundred groups instead of three
#
# Both proxies have the cache.

# %%
figures = ["throughput", "mean", "p95", "cpu_ms", "memory_mib"]
table = verdicts.loc[["groups"]].reset_index("chapter", drop=True).reset_index()
table = table[(table["candidate"] == "groups_500") & table["figure"].isin(figures)]
table.set_index("figure")[["baseline_value", "candidate_value", "effect", "low", "high", "kind"]].round(3)

# %% [markdown]
# ## A proxy without the cache
#
# Against one with the cache, under twenty clients in a loop. Ten pairs with five hundred groups were inconclusive, so
# these were measured again, with twenty pairs of runs that took twice the time.

# %%
proxies = {
    "proxy_3": deployments["3"],
    "proxy_500": deployments["500"],
    "proxy_500_longer": f"{deployments['500']}, longer",
    "proxy_many": deployments["many"],
}
figures = ["throughput", "mean", "p95", "cpu_ms"]
table = verdicts.loc[list(proxies)].reset_index()
table = table[(table["candidate"] == "off") & table["figure"].isin(figures)]
table.set_index(["chapter", "figure"])[["baseline_value", "candidate_value", "effect", "low", "high", "kind"]].round(3)

# %%
canvas, plots = plt.subplots(1, len(figures), figsize=(10, 2.6), layout="constrained", sharey=True)
for axes, figure in zip(plots, figures, strict=True):
    for row, name in enumerate(proxies):
        if (name, "off", figure) in verdicts.index:
            draw_effect(axes, row, verdicts.loc[(name, "off", figure)])
    label_rows(axes, list(proxies.values()))
    axes.set_title(figure, fontsize=9)
    axes.set_xlabel("%")
plt.show()

# %% [markdown]
# ## The number of accounts from which the cache matters
#
# An estimate in milliseconds of CPU time, from a straight line between three accounts in a group and a thousand. The
# numbers between them were not measured, and with three accounts there is no measurable difference. The cache matters
# where the search adds a twentieth to the CPU time of a request.

# %%
few, many = (verdicts.loc[(name, "off", "cpu_ms")] for name in ("proxy_3", "proxy_many"))
litellm_per_account = (many["baseline_value"] - few["baseline_value"]) / (1000 - 3)
search_per_account = (many["candidate_value"] - many["baseline_value"]) / 1000
without_accounts = few["baseline_value"] - 3 * litellm_per_account
share = 0.05
pd.Series(
    {
        "a request without accounts": without_accounts,
        "LiteLLM's own work for each account": litellm_per_account,
        "the search, for each account": search_per_account,
        "accounts from which the cache matters": share
        * without_accounts
        / (search_per_account - share * litellm_per_account),
    }
).round(3)
