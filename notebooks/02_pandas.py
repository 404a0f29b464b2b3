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
# # The lake in pandas
#
# A table of the lake is a folder of Parquet files, partitioned by machine, agent and month; `read_parquet` reads the
# folder as one frame. You need no llrem for that. Select columns, because texts are most of a lake's bytes.

# %%
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

import llrem_lake
from llrem_lake import show

PARTITIONS = ds.partitioning(pa.schema([(name, pa.string()) for name in ("machine", "agent", "month")]), flavor="hive")
KEY = ["machine", "agent", "session_id"]


def table(name, columns, **filters):
    """Columns of a table, with the partition columns as texts; Arrow's types keep integers with nulls as integers."""
    folder = llrem_lake.lake() / name
    if not folder.exists():
        raise SystemExit(f"no {name} in the lake yet: run `llrem etl`")
    return pd.read_parquet(folder, columns=columns, partitioning=PARTITIONS, dtype_backend="pyarrow", **filters)


# %% [markdown]
# ## Responses and their sessions
#
# Machine, agent and `session_id` identify a session; `usage` joins to `sessions` by these three.

# %%
# What does a billed response look like?
usage = table(
    "usage",
    [*KEY, "month", "timestamp", "model", "model_key", "input_tokens", "cache_read_tokens", "output_tokens", "total_tokens", "cost_usd"],
)
show(usage.head())

# %%
# Which sessions were they for?
sessions = table(
    "sessions",
    [*KEY, "project", "title", "started_at", "active_ms", "turns", "tool_calls", "tool_errors", "is_subagent", "cost_usd"],
)
responses = usage.merge(sessions[[*KEY, "project", "is_subagent"]], on=KEY, validate="many_to_one")
show(responses.shape)

# %% [markdown]
# ## Cost
#
# `sum` skips responses without a price. With `min_count=1`, the sum is unknown if all costs are.

# %%
# What did each model cost, and how many of its responses have no price?
by_model = (
    responses.assign(model=responses["model_key"].fillna(responses["model"]))
    .groupby("model", dropna=False)
    .agg(
        responses=("total_tokens", "size"),
        total_tokens=("total_tokens", "sum"),
        unpriced=("cost_usd", lambda cost: int(cost.isna().sum())),
        cost_usd=("cost_usd", lambda cost: cost.sum(min_count=1)),
    )
    .sort_values(["cost_usd", "total_tokens"], ascending=False)
)
show(by_model.head(15))

# %%
# What did each month cost, agent by agent?
by_month = usage.pivot_table(index="month", columns="agent", values="cost_usd", aggfunc="sum", observed=True)
show(by_month.round(2))

# %%
# Which part of its project's cost did each agent have?
by_project = responses.pivot_table(index="project", columns="agent", values="cost_usd", aggfunc="sum", observed=True)
show(by_project.div(by_project.sum(axis="columns"), axis="index").round(3).head(15))

# %% [markdown]
# ## Sessions
#
# Subagents run in sessions of their own. Exclude them from questions about people's work.

# %%
# How long are sessions, and what do they cost?
work = sessions[~sessions["is_subagent"] & (sessions["turns"] > 0)].assign(
    active_minutes=lambda frame: frame["active_ms"] / 60_000
)
show(work[["active_minutes", "turns", "tool_calls", "cost_usd"]].astype("float64").describe().round(2))

# %%
# When is the work done? Responses by weekday and hour; the lake stores UTC, so set your own zone here.
local = usage["timestamp"].dropna().dt.tz_convert("Europe/Berlin")
show(pd.crosstab(local.dt.day_name().rename("day"), local.dt.hour.rename("hour")))

# %% [markdown]
# ## Tools
#
# Filters on partition columns skip whole files.

# %%
# How often do the tools of one agent fail?
agent = sessions.groupby("agent", observed=True)["tool_calls"].sum().idxmax()
calls = table("tool_calls", [*KEY, "name", "category", "status", "duration_ms"], filters=[("agent", "==", agent)])
show(
    calls.assign(failed=calls["status"] == "error")
    .groupby(["category", "name"])
    .agg(calls=("failed", "size"), error_rate=("failed", "mean"), median_ms=("duration_ms", "median"))
    .sort_values("calls", ascending=False)
)
