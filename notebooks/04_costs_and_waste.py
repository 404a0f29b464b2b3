# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What did last month cost, and how much of it was wasted?
#
# The first half shows the cost by day, project, model and kind of token. The second half shows what the detectors found
# (`llrem query` lists them): what was wasted, and why. Set `LLREM_MONTH=2026-01` for another month.

# %%
import os

import matplotlib.pyplot as plt
import pandas as pd

import llrem_lake
from llrem_lake import show

connection = llrem_lake.connect()
plt.rcParams |= {"figure.figsize": (10, 4), "axes.spines.top": False, "axes.spines.right": False, "figure.autolayout": True}

# %%
# Which month? The last complete one, or the newest in the lake if that one has no usage.
months = connection.sql("""
    select distinct cast(date_trunc('month', timestamp) as date) as month from usage where timestamp is not null
""").df()["month"]
last = pd.Timestamp.now().to_period("M") - 1
known = set(months.dt.to_period("M"))
month = pd.Period(os.environ["LLREM_MONTH"]) if "LLREM_MONTH" in os.environ else last if last in known else max(known, default=last)
zone = connection.sql("select current_setting('timezone')").fetchall()[0][0]
span = {
    "since": month.start_time.tz_localize(zone).to_pydatetime(),
    "until": (month + 1).start_time.tz_localize(zone).to_pydatetime(),
}
show(month)

# %% [markdown]
# ## What it cost

# %%
# In all? Responses without a known price are left out of the sum, and counted separately.
agents = llrem_lake.report(connection, "cost_by_agent", **span).df()
cost = agents["cost_usd"].sum()
print(f"{month}: ${cost:,.2f} for {agents['responses'].sum():,.0f} responses; {agents['unpriced_responses'].sum():,.0f} without a price")
show(agents[["agent", "cost_usd", "unpriced_responses", "sessions", "responses"]])

# %%
# On which days?
days = llrem_lake.report(connection, "cost_by_day", **span).df()
calendar = pd.date_range(span["since"].date(), month.end_time.date())
by_day = days.set_index("day").reindex(calendar)
figure, axes = plt.subplots()
axes.bar(calendar, by_day["cost_usd"].fillna(0))
axes.set(title=f"Cost by day, {month}", ylabel="USD")
figure.autofmt_xdate()

# %%
# For which projects?
projects = llrem_lake.report(connection, "cost_by_project", **span).df()
projects["project"] = projects["project"].fillna("(no project)")
figure, axes = plt.subplots()
top = projects.dropna(subset="cost_usd").head(12).iloc[::-1]
axes.barh(top["project"], top["cost_usd"])
axes.set(title=f"Cost by project, {month}", xlabel="USD")
show(projects[["project", "cost_usd", "unpriced_responses", "sessions"]].head(12))

# %%
# With which models, and at what cost for a million tokens of all kinds?
models = llrem_lake.report(connection, "cost_by_model", **span).df()
show(models[["model", "cost_usd", "million_tokens_usd", "unpriced_responses", "responses"]].head(12))

# %%
# What were the tokens? Reading from a cache costs about a tenth of plain input, so this shows the effect of caching.
kinds = ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"]
tokens = by_day[kinds].fillna(0).astype("float64") / 1e6
figure, axes = plt.subplots()
below = 0 * tokens["input_tokens"]
for kind in kinds:
    axes.bar(calendar, tokens[kind], bottom=below, label=kind.removesuffix("_tokens"))
    below += tokens[kind]
axes.legend(loc="upper left")
axes.set(title=f"Tokens by kind, {month}", ylabel="millions")
figure.autofmt_xdate()

# %%
# How well do the caches work, by project and model?
show(llrem_lake.report(connection, "cache_hit_rate", **span).df().head(12))

# %%
# What share did subagents have?
show(llrem_lake.report(connection, "subagent_share", **span).df().query("is_subagent").head(12))

# %%
# Which sessions were the most expensive?
sessions = llrem_lake.report(connection, "cost_by_session", **span).df()
show(sessions[["started_at", "project", "title", "cost_usd", "agent"]].head(10))

# %% [markdown]
# ## What was wasted
#
# Each detector looks for one pattern. A finding says in which session and records it is, what it wasted, and why. Overlapping
# findings count each response once, so `wasted_cost_usd` adds up, to no more than a session cost. `alone_cost_usd` is the
# waste of a finding when looked at alone.

# %%
# What did the detectors find?
found = llrem_lake.findings(connection, **span).df()
print(f"{len(found)} findings by {found['detector'].nunique()} detectors, of sessions that began in the month")
show(found[["detector", "severity", "project", "wasted_cost_usd", "alone_cost_usd", "basis", "explanation"]].head(20))

# %%
# Which patterns wasted most?
by_detector = found.groupby("detector").agg(
    findings=("detector", "size"),
    sessions=("session_id", "nunique"),
    wasted_usd=("wasted_cost_usd", "sum"),
    wasted_tokens=("wasted_tokens", "sum"),
)
by_detector = by_detector.sort_values("wasted_usd", ascending=False)
if not found.empty:
    figure, axes = plt.subplots()
    axes.barh(by_detector.index[::-1], by_detector["wasted_usd"][::-1])
    axes.set(title=f"Waste by detector, {month}", xlabel="USD")
show(by_detector)

# %%
# What part of each project's cost was wasted? Of a session that went on after the month, no more than the month's part.
session = ["machine", "agent", "session_id"]
spent = sessions.merge(found.groupby(session, as_index=False)["wasted_cost_usd"].sum(), on=session, how="left")
spent["wasted_usd"] = spent["wasted_cost_usd"].fillna(0).clip(upper=spent["cost_usd"].fillna(0))
by_project = spent.assign(project=spent["project"].fillna("(no project)")).groupby("project")[["cost_usd", "wasted_usd"]].sum()
by_project = by_project[by_project["cost_usd"] > 0].sort_values("cost_usd", ascending=False)
waste = by_project["wasted_usd"].sum()
figure, axes = plt.subplots()
shown = by_project.head(12).iloc[::-1]
axes.barh(shown.index, shown["cost_usd"] - shown["wasted_usd"], label="the rest")
axes.barh(shown.index, shown["wasted_usd"], left=shown["cost_usd"] - shown["wasted_usd"], label="wasted", color="tab:red")
axes.legend()
axes.set(title=f"Waste within the cost of projects, {month}", xlabel="USD")
show(by_project.assign(share=by_project["wasted_usd"] / by_project["cost_usd"]).round(4).head(12))

# %%
# Which findings are worth a look? `first_seq` to `last_seq` are positions in the session.
columns = ["detector", "agent", "session_id", "first_seq", "last_seq", "wasted_cost_usd", "evidence"]
show(found.sort_values("wasted_cost_usd", ascending=False)[columns].head(10))

# %%
# In short?
print(f"{month}: ${cost:,.2f} spent, ${waste:,.2f} of it wasted" + (f" ({waste / cost:.0%})" if cost else ""))

# %% [markdown]
# `llrem detect --since … --until …` prints such findings on the command line. To see a finding in its session:
# `llrem sql "select seq, kind, text from messages where session_id = '…' and seq between … and … order by seq"`.

# %%
# Where are the plots? As a script, this saves them in the current folder.
show(llrem_lake.save_plots(f"llrem-{month}"))
