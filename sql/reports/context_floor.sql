-- name: context_floor
-- title: Context before the work begins
-- group: Caches -- context before the work begins
-- about: How large the first request of a session is: instructions, memory files, tools of MCP servers and the first
-- about: prompt. Every later request of the session carries the same again. By project, agent and its version, the
-- about: largest part of the cost first. Forks and side conversations are left out.
-- note: Look at the least and the median: a session that continues another begins with all of that one's context. The
-- note: first prompt counts too.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: agent_version -- Version of the agent; null if it recorded none.
-- column: is_subagent -- True for sessions that another session started.
-- column: sessions -- Runs, of sessions or subagents, with a first response. Count.
-- column: least_tokens -- Smallest first request: uncached input, cache reads and writes. Tokens.
-- column: median_tokens -- Median of the first requests. Tokens.
-- column: most_tokens -- Largest first request. Tokens.
-- column: first_cost_usd -- Cost of all first responses, with their output; null if none has a price. USD.
-- column: later_responses -- Responses of these sessions after the first: each carried the same context again. Count.
-- show: project, agent, median_tokens as median, least_tokens as least, most_tokens as most, sessions as runs,
-- show: first_cost_usd as first cost, later_responses, is_subagent, agent_version
-- total: sum of sessions, first_cost_usd, later_responses
with firsts as (
  select
    s.project, s.agent, s.agent_version, s.is_subagent, u.cost_usd,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0)
      + coalesce(u.cache_write_1h_tokens, 0) as tokens,
    row_number() over (
      partition by u.machine, u.agent, u.session_id
      order by u.timestamp asc nulls last, u.source_line asc nulls last, u.response_id asc nulls last
    ) as place,
    count(*) over (partition by u.machine, u.agent, u.session_id) as responses
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.grain = 'response' and u.total_tokens is not null and (s.is_subagent or not u.is_sidechain)
    and s.forked_from_session_id is null
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
)
select
  f.project,
  f.agent,
  f.agent_version,
  f.is_subagent,
  count(*) as sessions,
  min(f.tokens) as least_tokens,
  cast(floor(median(f.tokens)) as bigint) as median_tokens,
  max(f.tokens) as most_tokens,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(f.cost_usd * 1e9)) / 1e9 as first_cost_usd,
  sum(f.responses - 1) as later_responses
from firsts f
where f.place = 1
group by f.project, f.agent, f.agent_version, f.is_subagent
order by first_cost_usd desc nulls last, sessions desc nulls last, project nulls last, agent, agent_version nulls last, is_subagent
