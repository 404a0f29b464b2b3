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
# # The lake in Polars
#
# Polars scans the lake lazily: it reads only the columns, the partitions and the row groups that a question needs, on all
# cores. So it can query years of sessions without loading them.

# %%
import polars as pl

import llrem_lake
from llrem_lake import show

KEY = ["machine", "agent", "session_id"]


def scan(table):
    """A table of the lake. The partition columns are declared, because a month would be taken for a date."""
    return pl.scan_parquet(
        llrem_lake.lake() / table / "**/*.parquet",
        hive_partitioning=True,
        hive_schema={"machine": pl.String, "agent": pl.String, "month": pl.String},
    )


sessions, tool_calls, usage = scan("sessions"), scan("tool_calls"), scan("usage")

# %%
# What is in a table? The scan knows without reading a row.
show(usage.collect_schema())

# %% [markdown]
# ## Cost
#
# An unknown cost is null, and no sum counts it as 0. If all costs of a group are unknown, the sum is null.

# %%
# What did each agent cost, and how many of its responses have no price?
cost = pl.when(pl.col("cost_usd").count() > 0).then(pl.col("cost_usd").sum()).alias("usd")
by_agent = (
    usage.group_by("agent")
    .agg(cost, pl.col("cost_usd").is_null().sum().alias("unpriced"), pl.len().alias("responses"))
    .sort("usd", "agent", descending=[True, False], nulls_last=True)
    .collect()
)
show(by_agent)

# %%
# What did each week cost?
show(
    usage.drop_nulls("timestamp")
    .sort("timestamp")
    .group_by_dynamic("timestamp", every="1w")
    .agg(cost, pl.col("total_tokens").sum(), pl.struct(KEY).n_unique().alias("sessions"))
    .collect()
)

# %%
# Which part of the input came from the cache?
show(
    usage.filter(pl.col("cache_read_tokens").is_not_null())
    .with_columns(
        pl.coalesce("model_key", "model").alias("model"),
        pl.sum_horizontal("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens").alias(
            "all_input"
        ),
    )
    .group_by("model")
    .agg(pl.col("all_input").sum(), (pl.col("cache_read_tokens").sum() / pl.col("all_input").sum()).alias("hit_rate"))
    .sort("all_input", "model", descending=[True, False])
    .head(15)
    .collect()
)

# %% [markdown]
# ## Sessions
#
# `parent_session_id` is the session that started a subagent. `root_session_id` is the outermost one: a whole piece of work.

# %%
# Which pieces of work were the most expensive, with all their subagents?
roots = sessions.select("machine", "agent", pl.col("session_id").alias("root_session_id"), "project", "title")
show(
    sessions.group_by("machine", "agent", "root_session_id")
    .agg(cost, (pl.len() - 1).alias("subagents"), pl.col("turns").sum())
    .join(roots, on=["machine", "agent", "root_session_id"], how="left")
    .sort("usd", "root_session_id", descending=[True, False], nulls_last=True)
    .select("agent", "project", pl.col("title").str.slice(0, 60), "usd", "subagents", "turns")
    .head(15)
    .collect()
)

# %%
# Which sessions cost far more than is usual for their project?
show(
    sessions.filter(pl.col("cost_usd") > 0, ~pl.col("is_subagent"))
    .with_columns(
        pl.col("cost_usd").median().over("project").alias("usual_usd"), pl.len().over("project").alias("of_sessions")
    )
    .filter(pl.col("of_sessions") >= 3)
    .with_columns((pl.col("cost_usd") / pl.col("usual_usd")).alias("times"))
    .sort("times", descending=True)
    .select("project", "agent", "session_id", "cost_usd", "usual_usd", "times")
    .head(10)
    .collect()
)

# %% [markdown]
# ## Tools
#
# `seq` orders the messages and calls of a session, so a window over a session finds what came before a call.

# %%
# How often is a failed call followed by the very same call?
show(
    tool_calls.filter(pl.col("input_key").is_not_null())
    .sort(*KEY, "seq")
    .with_columns(
        pl.col("input_key").shift().over(KEY).alias("key_before"), pl.col("status").shift().over(KEY).alias("status_before")
    )
    .filter(pl.col("status_before") == "error")
    .group_by("name")
    .agg(pl.len().alias("after_an_error"), (pl.col("input_key") == pl.col("key_before")).sum().alias("the_same_again"))
    .sort("the_same_again", "after_an_error", "name", descending=[True, True, False])
    .collect()
)

# %%
# Which tools return most, and so fill the context?
show(
    tool_calls.group_by("agent", "name")
    .agg(pl.col("output_bytes").sum(), pl.col("output_bytes").max().alias("largest"), pl.len().alias("calls"))
    .sort("output_bytes", "agent", "name", descending=[True, False, False], nulls_last=True)
    .head(15)
    .collect()
)
