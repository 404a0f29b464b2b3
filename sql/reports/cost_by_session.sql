-- name: cost_by_session
-- title: Cost by session
-- group: Cost -- also cost_by_agent
-- about: What each session cost, most expensive first. A subagent's run is a session of its own.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: started_at -- First record of the session.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: title -- Title of the session.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Tokens of all kinds. Tokens.
-- column: agent -- Coding agent.
-- column: session_id -- Identity of the session, together with machine and agent.
-- column: root_session_id -- Outermost session of the chain of parents.
-- column: machine -- Machine that the session ran on.
-- show: session_id, cost_usd, started_at, project, title, total_tokens, responses, agent
-- total: totals, sessions = billed_sessions
with by_session as (
  select
    u.machine,
    u.agent,
    u.session_id,
    nullif(count(*) filter (where u.grain = 'response'), 0) as responses,
    sum(u.total_tokens) as total_tokens,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where u.cost_usd is null) as unpriced_responses
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($agent is null or u.agent = $agent)
  group by u.machine, u.agent, u.session_id
)
select
  s.started_at,
  s.project,
  s.title,
  b.cost_usd,
  b.unpriced_responses,
  b.responses,
  b.total_tokens,
  b.agent,
  b.session_id,
  s.root_session_id,
  b.machine
from by_session b
join sessions s on s.machine = b.machine and s.agent = b.agent and s.session_id = b.session_id
where ($project is null or s.project = $project)
order by b.cost_usd desc nulls last, b.total_tokens desc nulls last, b.machine, b.agent, b.session_id
