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
# # The lake in DuckDB
#
# The lake is Parquet, so any SQL engine reads it. `llrem schema -f duckdb` prints the statements that give a DuckDB
# session the tables of `llrem sql`; `llrem_lake.connect` runs them. This tour shows the tables and example queries.

# %%
import llrem_lake
from llrem_lake import show

connection = llrem_lake.connect()

# %% [markdown]
# ## The tables
#
# Four tables hold what the agents did: a row for each session, message, tool call, and billed response. Plain sums are
# right: each response is in the lake once, however often an agent has copied it.

# %%
# How many rows has each table, and which agents do they come from?
show(connection.sql("""
    select 'sessions' as of_table, count(*) as n, count(distinct agent) as agents from sessions
    union all select 'messages', count(*), count(distinct agent) from messages
    union all select 'tool_calls', count(*), count(distinct agent) from tool_calls
    union all select 'usage', count(*), count(distinct agent) from usage
""").df())

# %%
# Which columns has a table, and how are they filled?
show(connection.sql("select column_name, column_type, approx_unique, null_percentage from (summarize usage)").df())

# %%
# Which agents were used, from when to when, and for what?
show(connection.sql("""
    select
        agent,
        count(*) as sessions,
        min(started_at)::date as first_day,
        max(started_at)::date as last_day,
        sum(turns)::bigint as turns,
        count(distinct project) as projects
    from sessions
    where not is_subagent
    group by agent
    order by sessions desc, agent
""").df())

# %% [markdown]
# ## Tokens and cost
#
# Four kinds of tokens never overlap: input, read from a cache, written to a cache, output. A cost is null if no price is
# known. `cost_source` says whether the agent recorded it, or llrem computed it from the price of that day.

# %%
# What has it cost so far, and how much of that do we know?
known = connection.sql("""
    select
        round(sum(cost_usd), 2) as usd,
        count(*) filter (where cost_usd is null) as responses_without_price,
        count(*) as responses
    from usage
""").df()
show(known)

# %%
# Which models took the tokens, and which kind of tokens?
show(connection.sql("""
    select
        coalesce(model_key, model) as model,
        sum(input_tokens)::bigint as input,
        sum(cache_read_tokens)::bigint as cache_read,
        sum(coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0))::bigint as cache_write,
        sum(output_tokens)::bigint as output,
        sum(cost_usd) as usd
    from usage
    group by all
    order by usd desc nulls last, output desc nulls last
    limit 15
""").df())

# %%
# How does the cost add up over the months?
show(connection.sql("""
    select month, sum(cost_usd) as usd, sum(sum(cost_usd)) over (order by month) as so_far
    from usage
    group by month
    order by month
""").df())

# %% [markdown]
# ## Tools
#
# `category` makes the tools of different agents comparable; `status` says how a call ended.

# %%
# Which kinds of tools fail most often?
show(connection.sql("""
    select
        category,
        count(*) as calls,
        count(*) filter (where status = 'error') / count(*) as error_rate,
        count(*) filter (where status = 'rejected') as rejected,
        median(duration_ms) as median_ms
    from tool_calls
    group by category
    order by calls desc
""").df())

# %%
# Which shell programs do the agents run?
show(connection.sql("""
    select regexp_extract(trim(command), '^[\\w./-]+') as program, count(*) as calls, count(distinct session_id) as sessions
    from tool_calls
    where command is not null
    group by program
    order by calls desc, program
    limit 15
""").df())

# %%
# What was said just before a tool call failed?
show(connection.sql("""
    select t.agent, t.name, t.file_path, left(t.output, 80) as output, left(m.text, 80) as said
    from tool_calls t
    asof join messages m
      on t.machine = m.machine and t.agent = m.agent and t.session_id = m.session_id and t.seq >= m.seq
    where t.status = 'error'
    order by t.started_at desc nulls last
    limit 10
""").df())

# %% [markdown]
# ## Canned queries
#
# `llrem query NAME --show` prints the SQL of a canned query. It runs in DuckDB unchanged, and returns the same rows as
# `llrem query`. Its header describes the query, its parameters and its columns.

# %%
# Which canned queries are there?
show(llrem_lake.queries()[["name", "title", "kind", "parameters"]])

# %%
# What did each project cost?
show(llrem_lake.report(connection, "cost_by_project").df())

# %%
# Which tools does the agent with most calls use?
agent = connection.sql("select agent from tool_calls group by agent order by count(*) desc, agent limit 1").fetchall()[0][0]
show(llrem_lake.report(connection, "tool_use", agent=agent).df())

# %% [markdown]
# ## Next steps
#
# A result is a relation: `.df()` converts it to a pandas frame, `.pl()` to one of Polars, and `.to_parquet(path)` writes a
# file. The views read the current lake with every query. `sources`, `runs` and `prices` are copies from the start of the
# session.

# %%
# Did the last runs of `llrem etl` go well?
show(connection.sql("""
    select started_at, sources_seen, sources_changed, sources_bad, problems, exit_code
    from runs
    order by started_at desc
    limit 5
""").df())
