-- name: session_lengths
-- title: How long sessions are
-- group: Time -- turns and active time
-- about: Turns, active time and tokens of sessions, by project and agent, most active time first. Active time excludes
-- about: pauses of five minutes or more. Subagents are left out.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: sessions -- Sessions with a turn. Count.
-- column: active_hours -- Active time of all sessions. Hours.
-- column: median_active_minutes -- Median active time of a session. Minutes.
-- column: longest_active_minutes -- Active time of the longest session. Minutes.
-- column: median_turns -- Median number of turns. Count.
-- column: most_turns -- Turns of the session with most turns. Count.
-- column: median_tokens -- Median tokens of a session. Tokens.
-- show: project, agent, sessions as with a turn, active_hours as active, median_active_minutes as median,
-- show: longest_active_minutes as longest, median_turns, most_turns, median_tokens as median tokens
-- total: sum of sessions, active_hours
with lasting as (
  select
    s.project,
    s.agent,
    s.active_ms,
    s.active_ms / 6e4 as active_minutes,
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
  round(sum(active_ms) / 3.6e6, 6) as active_hours,
  round(median(active_minutes), 4) as median_active_minutes,
  round(max(active_minutes), 4) as longest_active_minutes,
  median(turns) as median_turns,
  max(turns) as most_turns,
  round(median(total_tokens)) as median_tokens
from lasting
group by project, agent
order by active_hours desc nulls last, sessions desc nulls last, project nulls last, agent
