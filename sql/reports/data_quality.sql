-- name: data_quality
-- title: What is missing or uncertain
-- group: Data -- what the figures leave out
-- about: What the figures leave out, by agent: sources that could not be read in full, and usage without a price, a time
-- about: or an exact count. For costs that were recorded as 0, as with subscriptions, it adds the cost by list price.
-- about: Sources and lines that could not be read count whatever the time and project: nobody knows theirs.
-- param: since timestamp = null -- Only usage from this time on; all sources.
-- param: until timestamp = null -- Only usage before this time; all sources.
-- param: project text = null -- Only usage of this project; all sources.
-- param: agent text = null -- Only this agent.
-- column: agent -- Coding agent.
-- column: problem -- What is wrong or unknown.
-- column: what -- The state, model or grain in question; null if all are.
-- column: items -- Sources, lines or responses. Count.
-- column: tokens -- Tokens in question; null if unknown. Tokens.
-- column: list_cost_usd -- Their cost by list price, if a cost of 0 was recorded. USD.
-- show: problem, what, agent, items, tokens, list_cost_usd as list price
with billed as (
  select u.*
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
),
problems as (
  select agent, 'source could not be read' as problem, state as what, count(*) as items, cast(null as bigint) as tokens,
    cast(null as double) as list_cost_usd
  from sources
  where state in ('unreadable', 'partial', 'encrypted')
  group by agent, state
  union all
  select agent, 'line could not be read', cast(null as text), sum(bad_lines), cast(null as bigint), cast(null as double)
  from sources
  where bad_lines > 0
  group by agent
  union all
  select agent, 'model without a known price', coalesce(model, '(no model)'), count(*), sum(total_tokens), cast(null as double)
  from billed
  where cost_usd is null and total_tokens > 0
  group by agent, coalesce(model, '(no model)')
  union all
  select agent, 'no tokens were recorded', coalesce(model, '(no model)'), count(*), sum(total_tokens), cast(null as double)
  from billed
  where cost_usd is null and coalesce(total_tokens, 0) = 0
  group by agent, coalesce(model, '(no model)')
  union all
  select agent, 'cost recorded as 0', coalesce(model, '(no model)'), count(*), sum(total_tokens),
    sum(round(list_cost_usd * 1e9)) / 1e9
  from billed
  where cost_source = 'recorded' and cost_usd = 0 and list_cost_usd > 0
  group by agent, coalesce(model, '(no model)')
  union all
  select agent, 'input was not recorded', grain, count(*), sum(total_tokens), cast(null as double)
  from billed
  where input_tokens is null and output_tokens is not null
  group by agent, grain
  union all
  select agent, 'counts are rounded, estimated or those of a running response', grain, count(*), sum(total_tokens),
    cast(null as double)
  from billed
  where is_partial and input_tokens is not null
  group by agent, grain
  union all
  select agent, 'no finer than a turn or session', grain, count(*), sum(total_tokens), cast(null as double)
  from billed
  where grain <> 'response'
  group by agent, grain
  union all
  select agent, 'no time was recorded', cast(null as text), count(*), sum(total_tokens), cast(null as double)
  from billed
  where timestamp is null
  group by agent
)
select agent, problem, what, items, tokens, list_cost_usd
from problems
where $agent is null or agent = $agent
order by agent, problem, items desc nulls last, what nulls last
