-- name: cost_by_entrypoint
-- title: Cost of people and jobs
-- group: Cost -- also cost_by_agent
-- about: What sessions cost by what started them, most expensive first: a person at a terminal or editor, or a job
-- about: without one. If the recorded entry point does not say which, the kind is unclear. A subagent counts for the
-- about: session that started it.
-- note: An unclear entry point may be a person or a job: people use SDKs too.
-- param: automation text = '|exec|sdk-cli|' -- Entry points of jobs.
-- param: people text = '|cli|claude-desktop|claude-vscode|vscode|codex-tui|codex_vscode|' -- Entry points of people.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: started_by -- person, automation or unclear.
-- column: agent -- Coding agent.
-- column: entrypoint -- What started the agent, as stored; null if it recorded none.
-- column: project -- Short name of the project, for a subagent that of the session that started it; null if the agent recorded none.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- column: last_used -- When the last response began.
-- show: started_by, cost_usd, agent, entrypoint, project, sessions, responses, total_tokens, last_used
-- total: totals, sessions = billed_sessions
with placed as (
  select
    s.agent,
    coalesce(r.entrypoint, s.entrypoint) as entrypoint,
    coalesce(r.project, s.project) as project,
    s.machine || '/' || s.agent || '/' || s.root_session_id as root,
    u.cost_usd, u.grain, u.total_tokens, u.timestamp
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  left join sessions r on r.machine = s.machine and r.agent = s.agent and r.session_id = s.root_session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
)
select
  case
    when strpos($automation, '|' || entrypoint || '|') > 0 then 'automation'
    when strpos($people, '|' || entrypoint || '|') > 0 then 'person'
    else 'unclear'
  end as started_by,
  agent,
  entrypoint,
  project,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
  count(*) filter (where cost_usd is null) as unpriced_responses,
  count(distinct root) as sessions,
  nullif(count(*) filter (where grain = 'response'), 0) as responses,
  sum(total_tokens) as total_tokens,
  max(timestamp) as last_used
from placed
group by agent, entrypoint, project
order by cost_usd desc nulls last, responses desc nulls last, agent, entrypoint nulls last, project nulls last
