-- name: cost_by_day
-- title: Cost by day
-- group: Cost -- what each day cost
-- about: What each day cost, oldest first. Days are those of the session's time zone.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: day -- Day on which the responses began, or their session if a response has no time; null if neither has one.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: input_tokens -- Input that was neither read from nor written to a cache. Tokens.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: output_tokens -- Output, including reasoning. Tokens.
-- show: day, cost_usd, sessions, responses, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens
-- total: totals, sessions = billed_sessions
with by_day as (
  select
    cast(coalesce(u.timestamp, s.started_at) as date) as day,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where u.cost_usd is null) as unpriced_responses,
    count(distinct s.machine || '/' || s.agent || '/' || s.root_session_id) as sessions,
    nullif(count(*) filter (where u.grain = 'response'), 0) as responses,
    sum(u.input_tokens) as input_tokens,
    sum(u.cache_read_tokens) as cache_read_tokens,
    sum(coalesce(u.cache_write_5m_tokens + u.cache_write_1h_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens))
      as cache_write_tokens,
    sum(u.output_tokens) as output_tokens
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  group by cast(coalesce(u.timestamp, s.started_at) as date)
)
select *
from by_day
order by day nulls last
