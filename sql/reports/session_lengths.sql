-- name: session_lengths
-- title: How long sessions are
-- about: Turns, active time and tokens of sessions, by project and agent, most active time first.
-- about: Active time counts the stretches with less than five minutes between records. Subagents are left out.
-- param: since timestamp = null -- Only from then on.
-- param: until timestamp = null -- Only before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null when the agent recorded none.
-- column: agent -- Coding agent.
-- column: sessions -- Sessions with a turn. Count.
-- column: active_hours -- Active time of all sessions. Hours.
-- column: median_active_minutes -- Half of the sessions were active no longer. Minutes.
-- column: longest_active_minutes -- The session that was active longest. Minutes.
-- column: median_turns -- Half of the sessions had no more turns. Count.
-- column: most_turns -- The session with most turns. Count.
-- column: median_tokens -- Half of the sessions used no more tokens. Tokens.
with lasting as (
  select
    s.project,
    s.agent,
    s.active_ms,
    s.active_ms / 60000.0 as active_minutes,
    cast(s.turns as double) as turns,
    cast(s.total_tokens as double) as total_tokens
  from sessions s
  where not s.is_subagent
    and s.turns > 0
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
)
select
  project,
  agent,
  count(*) as sessions,
  round(sum(active_ms) / 3600000.0, 2) as active_hours,
  round(median(active_minutes), 1) as median_active_minutes,
  round(max(active_minutes), 1) as longest_active_minutes,
  median(turns) as median_turns,
  max(turns) as most_turns,
  round(median(total_tokens)) as median_tokens
from lasting
group by project, agent
order by active_hours desc nulls last, sessions desc nulls last, project nulls last, agent
