-- name: compaction_rate
-- title: Compactions by project
-- group: Caches -- how often the context was compacted
-- about: How often the context was compacted, by project and agent, most compactions first. The filters by time apply to
-- about: the start of a session. Sessions without a turn or compaction are left out.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: sessions -- Runs: sessions and subagents. Count.
-- column: compacted_sessions -- Sessions with a compaction. Count.
-- column: turns -- Turns of all sessions. Count.
-- column: compactions -- Compactions of all sessions. Count.
-- column: compacted_share -- compacted_sessions / sessions. 0 to 1.
-- column: per_100_turns -- Compactions for every 100 turns.
-- column: most_in_a_session -- Compactions of the session that had most. Count.
-- show: project, agent, compactions, sessions as runs, compacted_sessions as compacted, compacted_share as share, turns, per_100_turns,
-- show: most_in_a_session
-- total: sum of sessions, compacted_sessions, turns, compactions
with by_project as (
  select
    s.project,
    s.agent,
    count(*) as sessions,
    count(*) filter (where s.compactions > 0) as compacted_sessions,
    sum(s.turns) as turns,
    sum(s.compactions) as compactions,
    max(s.compactions) as most_in_a_session
  from sessions s
  where (s.turns > 0 or s.compactions > 0)
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
  group by s.project, s.agent
)
select
  project,
  agent,
  sessions,
  compacted_sessions,
  turns,
  compactions,
  round(compacted_sessions * 1.0 / sessions, 4) as compacted_share,
  round(compactions * 100.0 / nullif(turns, 0), 2) as per_100_turns,
  most_in_a_session
from by_project
order by compactions desc nulls last, sessions desc nulls last, project nulls last, agent
