-- name: cost_by_project
-- title: Cost by project
-- group: Cost -- also cost_by_agent
-- about: What each project cost, most expensive first. A subagent counts for the project that it ran in.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: input_tokens -- Input that was neither read from nor written to a cache. Tokens.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: output_tokens -- Output, including reasoning. Tokens.
-- column: last_used -- When the last response began.
-- show: project, cost_usd, sessions, responses, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
-- show: last_used
-- total: totals, sessions = billed_sessions
with by_project as (
  select
    s.project,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where u.cost_usd is null) as unpriced_responses,
    count(distinct s.machine || '/' || s.agent || '/' || s.root_session_id) as sessions,
    nullif(count(*) filter (where u.grain = 'response'), 0) as responses,
    sum(u.input_tokens) as input_tokens,
    sum(u.cache_read_tokens) as cache_read_tokens,
    sum(coalesce(u.cache_write_5m_tokens + u.cache_write_1h_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens))
      as cache_write_tokens,
    sum(u.output_tokens) as output_tokens,
    max(u.timestamp) as last_used
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  group by s.project
)
select *
from by_project
order by cost_usd desc nulls last, responses desc nulls last, project nulls last
