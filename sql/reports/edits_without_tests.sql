-- name: edits_without_tests
-- title: Sessions that edited code and ran tests
-- group: Tools -- also test_runs
-- about: In how many sessions an agent edited code, in how many of these it also ran tests, and how the last run ended, by
-- about: project and agent. A subagent's calls count for the session that started it.
-- note: Tests that a person, a hook or a server ran are not in the files, nor are edits by shell commands: a session
-- note: without a test run may still be tested.
-- param: extensions text = '|rs|py|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|java|kt|scala|c|h|cc|cpp|hpp|cs|fs|swift|m|rb|php|ex|exs|erl|clj|hs|ml|lua|dart|zig|r|jl|pl|sh|sql|' -- Extensions of files with code.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: sessions -- Sessions that edited code. Count.
-- column: tested -- Of these, sessions that ran tests at any time. Count.
-- column: tested_after -- Of these, sessions that ran tests after their last edit of code. Count.
-- column: ended_passed -- Sessions whose last run passed. Count.
-- column: ended_failed -- Sessions whose last run failed. Count.
-- column: ended_unknown -- Sessions whose last run ended in an unknown way. Count.
-- show: project, agent, sessions, tested, tested_after, ended_passed, ended_failed, ended_unknown
-- total: sum of sessions, tested, tested_after, ended_passed, ended_failed, ended_unknown
with calls as (
  select
    s.machine, s.agent, s.root_session_id, s.project, t.test_outcome,
    t.category in ('edit', 'write') and t.status = 'ok'
      and strpos($extensions, '|' || regexp_replace(lower(t.file_path), '^.*[.]', '') || '|') > 0 as is_edit,
    row_number() over (
      partition by s.machine, s.agent, s.root_session_id
      order by t.started_at asc nulls first, s.session_id asc nulls last, t.seq asc nulls last
    ) as place
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  left join sessions r on r.machine = s.machine and r.agent = s.agent and r.session_id = s.root_session_id
  where (t.test_outcome is not null or t.category in ('edit', 'write'))
    and ($since is null or coalesce(r.started_at, s.started_at) >= $since)
    and ($until is null or coalesce(r.started_at, s.started_at) < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
placed as (
  select
    c.*,
    max(case when is_edit then place end) over (partition by machine, agent, root_session_id) as last_edit,
    max(case when test_outcome is not null then place end) over (partition by machine, agent, root_session_id) as last_run
  from calls c
),
by_session as (
  select
    machine, agent, root_session_id,
    max(case when place = last_edit then project end) as project,
    max(last_edit) as last_edit,
    max(last_run) as last_run,
    max(case when place = last_run then test_outcome end) as outcome
  from placed
  where last_edit is not null
  group by machine, agent, root_session_id
)
select
  project,
  agent,
  count(*) as sessions,
  count(last_run) as tested,
  count(*) filter (where last_run > last_edit) as tested_after,
  count(*) filter (where outcome = 'passed') as ended_passed,
  count(*) filter (where outcome = 'failed') as ended_failed,
  count(*) filter (where outcome = 'unknown') as ended_unknown
from by_session
group by project, agent
order by sessions desc nulls last, project nulls last, agent
