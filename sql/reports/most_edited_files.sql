-- name: most_edited_files
-- title: Files edited most
-- group: Tools -- and in how many sessions
-- about: Which files were written or edited most often, and in how many sessions.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: file_path -- Path of the file, as the agent recorded it.
-- column: edits -- Calls that wrote or edited it, including failed ones. Count.
-- column: failed -- Edits that failed or were refused. Count.
-- column: sessions -- Sessions that edited it; a subagent's session counts as part of its parent. Count.
-- column: days -- Days on which it was edited, in the session's time zone. Count.
-- column: last_edited -- When the last of the calls began.
-- show: file_path as file, edits, sessions, days, failed, project, last_edited
-- total: sum of edits, failed
with numbered as (
  select
    machine, agent, session_id, project, started_at,
    -- Many files have few sessions each: counting numbers of sessions takes a tenth of the memory of counting names.
    dense_rank() over (order by machine, agent, root_session_id) as number
  from sessions
  where ($project is null or project = $project) and ($agent is null or agent = $agent)
)
select
  s.project,
  t.file_path,
  count(*) as edits,
  count(*) filter (where t.status in ('error', 'rejected')) as failed,
  count(distinct s.number) as sessions,
  count(distinct date_trunc('day', t.started_at)) as days,
  max(t.started_at) as last_edited
from tool_calls t
join numbered s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
where t.category in ('write', 'edit')
  and t.file_path is not null
  and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
  and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
  and ($agent is null or t.agent = $agent)
group by s.project, t.file_path
order by edits desc nulls last, sessions desc nulls last, s.project nulls last, t.file_path
