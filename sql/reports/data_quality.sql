-- name: data_quality
-- title: What is missing or uncertain
-- about: What the figures leave out, by agent: sources that could not be read in full, and usage without a price, a time or a final count.
-- param: agent text = null -- Only this agent.
-- column: agent -- Coding agent.
-- column: problem -- What is wrong or unknown.
-- column: what -- The state, model or grain that it is about; null where it is about all.
-- column: items -- Sources, lines or responses. Count.
-- column: tokens -- Tokens that are concerned; null where they are not known. Tokens.
with problems as (
  select agent, 'source could not be read' as problem, state as what, count(*) as items, cast(null as bigint) as tokens
  from sources
  where state in ('unreadable', 'partial', 'encrypted')
  group by agent, state
  union all
  select agent, 'line could not be read', cast(null as text), sum(bad_lines), cast(null as bigint)
  from sources
  where bad_lines > 0
  group by agent
  union all
  select agent, 'model without a known price', coalesce(model, '(no model)'), count(*), sum(total_tokens)
  from usage
  where cost_usd is null
  group by agent, coalesce(model, '(no model)')
  union all
  select agent, 'only a running count was recorded', grain, count(*), sum(total_tokens)
  from usage
  where is_partial
  group by agent, grain
  union all
  select agent, 'no finer than a turn or session', grain, count(*), sum(total_tokens)
  from usage
  where grain <> 'response'
  group by agent, grain
  union all
  select agent, 'no time was recorded', cast(null as text), count(*), sum(total_tokens)
  from usage
  where timestamp is null
  group by agent
)
select agent, problem, what, items, tokens
from problems
where $agent is null or agent = $agent
order by agent, problem, items desc nulls last, what nulls last
