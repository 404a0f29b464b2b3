-- name: subagent_share
-- title: What subagents cost
-- group: Cost -- what subagents cost
-- about: What subagents cost in each project and their share of its tokens, by kind of subagent, most expensive first.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: subagent_type -- Kind of subagent; null for main sessions and if the agent does not record it.
-- column: is_subagent -- True for subagents.
-- column: sessions -- Runs with usage. Count.
-- column: total_tokens -- Tokens of all kinds. Tokens.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: share -- Share of the tokens that the agent used in the project. 0 to 1.
-- show: project, cost_usd, share, is_subagent as subagent, subagent_type as kind, agent, sessions as runs, total_tokens
-- total: sum of cost_usd, sessions, total_tokens
with by_kind as (
  select
    s.project,
    s.agent,
    s.subagent_type,
    s.is_subagent,
    count(distinct s.machine || '/' || s.session_id) as sessions,
    sum(u.total_tokens) as total_tokens,
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where u.cost_usd is null) as unpriced_responses
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  group by s.project, s.agent, s.subagent_type, s.is_subagent
)
select
  project,
  agent,
  subagent_type,
  is_subagent,
  sessions,
  total_tokens,
  cost_usd,
  unpriced_responses,
  round(total_tokens * 1e0 / nullif(sum(total_tokens) over (partition by project, agent), 0), 6) as share
from by_kind
order by cost_usd desc nulls last, total_tokens desc nulls last, project nulls last, agent, is_subagent, subagent_type nulls last
