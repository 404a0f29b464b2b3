-- name: hook_overhead
-- title: Time that hooks took
-- group: Tools -- also tool_latency
-- about: How long the hooks at the end of turns took, by project and agent, longest first. Of hooks that ran at the same time,
-- about: only the slowest counts.
-- note: Many hooks have no recorded duration, so the total is a lower bound. Only Claude Code records these hooks.
-- param: since timestamp = null -- Only hooks from this time on.
-- param: until timestamp = null -- Only hooks before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: turns -- Turns that ended with hooks. Count.
-- column: timed_turns -- Of these, turns whose hooks have a duration. Count.
-- column: median_seconds -- Median duration of a timed turn's hooks. Seconds.
-- column: total_seconds -- Duration of all timed turns' hooks. Seconds.
-- column: share_of_turn -- Part of a turn's duration that its hooks took, over the timed turns whose duration is known. 0 to 1.
-- show: project, agent, total_seconds as total, median_seconds as median, share_of_turn, turns, timed_turns
-- total: sum of turns, timed_turns, total_seconds
with ends as (
  select
    m.machine, m.agent, m.session_id, m.turn, s.project,
    min(m.timestamp) filter (where m.kind = 'hook') as hooks_at,
    count(*) filter (where m.kind = 'hook') as hooks,
    sum(case when m.kind = 'hook' then m.duration_ms end) as hooks_ms,
    sum(case when m.kind = 'meta' then m.duration_ms end) as turn_ms
  from messages m
  join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
  where m.kind in ('hook', 'meta')
    and ($project is null or s.project = $project)
    and ($agent is null or m.agent = $agent)
  group by m.machine, m.agent, m.session_id, m.turn, s.project
)
select
  project,
  agent,
  count(*) as turns,
  count(hooks_ms) as timed_turns,
  median(hooks_ms * 1.0) / 1000 as median_seconds,
  sum(hooks_ms) * 1.0 / 1000 as total_seconds,
  round(
    sum(case when turn_ms is not null then hooks_ms end) * 1.0
      / nullif(sum(case when hooks_ms is not null then turn_ms end), 0),
    4
  ) as share_of_turn
from ends
where hooks > 0
  and ($since is null or hooks_at >= $since)
  and ($until is null or hooks_at < $until)
group by project, agent
order by total_seconds desc nulls last, project nulls last, agent nulls last
