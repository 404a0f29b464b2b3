-- name: rework
-- title: Files edited session after session
-- about: Files that at least `min_sessions` consecutive sessions of a project edited, on average `min_edits` times or
-- about: more: either the work does not hold, or the file does too much. Sessions are consecutive if no session of the
-- about: project between them edited only other files, and each started within `max_days` of the previous one. A session
-- about: counts with its subagents and forks as one. Left out are files that every change touches (texts, lists of
-- about: dependencies, locks, data, settings, translations and lists of modules), and sessions that edited nothing but
-- about: this file, as in a project of one script.
-- about: The finding belongs to the latest session, for all of its files. Severity depends on the sessions: medium from 10
-- about: on, high from 20. The waste is unknown, so it is null.
-- about: The filters `since`, `until` and `agent` choose what is reported, by the session of the finding; the sessions in a
-- about: row always come from all sessions.
-- todo: Check whether the edits undo each other, or whether the file does too much.
-- habit: files edited session after session
-- param: min_sessions int = 5 -- Fewest sessions in a row. Count.
-- param: min_edits int = 2 -- Fewest edits of the file by a session, on average. Count.
-- param: max_days int = 2 -- Longest time between sessions in a row. Days.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.project_path, s.started_at, s.ended_at,
    coalesce(s.forked_from_session_id, s.root_session_id) as work
  from sessions s
  where s.tool_calls > 0
    and s.project is not null
    and s.started_at is not null
    and ($project is null or s.project = $project)
),
edits as (
  select
    c.machine, c.agent, c.session_id, c.project, c.started_at, c.ended_at, c.work,
    case when left(t.file_path, length(c.project_path) + 1) = c.project_path || '/'
         then substr(t.file_path, length(c.project_path) + 2)
         else t.file_path end as file,
    count(*) as edits,
    min(t.seq) as first_seq,
    max(t.seq) as last_seq
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.category in ('edit', 'write') and t.status = 'ok' and t.file_path is not null
  group by
    c.machine, c.agent, c.session_id, c.project, c.started_at, c.ended_at, c.work,
    case when left(t.file_path, length(c.project_path) + 1) = c.project_path || '/'
         then substr(t.file_path, length(c.project_path) + 2)
         else t.file_path end
),
works as (
  select
    machine, project, work,
    dense_rank() over (partition by machine, project order by min(started_at), work) as place,
    min(started_at) as work_started_at,
    min(file) as first_file,
    max(file) as last_file
  from edits
  group by machine, project, work
),
-- Most files are edited by one or two sessions: the steps below skip them.
often as (
  select machine, project, file
  from edits
  group by machine, project, file
  having count(*) >= $min_sessions
),
-- The last session of each piece of work is the last that edited the file.
placed as (
  select
    e.*, w.place, w.work_started_at, w.first_file, w.last_file,
    sum(e.edits) over (partition by e.machine, e.project, e.work, e.file) as edits_of_work,
    row_number() over (
      partition by e.machine, e.project, e.work, e.file
      order by e.started_at desc nulls last, e.agent desc nulls last, e.session_id desc nulls last
    ) as from_last
  from edits e
  join often o on o.machine = e.machine and o.project = e.project and o.file = e.file
  join works w on w.machine = e.machine and w.project = e.project and w.work = e.work
),
touched as (
  select
    p.*,
    lag(place) over (partition by machine, project, file order by place) as place_before,
    lag(work_started_at) over (partition by machine, project, file order by place) as started_before
  from placed p
  where from_last = 1
    and file not ilike '%.md' and file not ilike '%.mdx' and file not ilike '%.rst' and file not ilike '%.txt'
    and file not ilike '%.lock' and file not ilike '%.json' and file not ilike '%.csv' and file not ilike '%.log'
    and file not ilike '%.po' and file not ilike '%.sum' and file not ilike '%go.mod' and file not ilike '%cargo.toml'
    and file not ilike '%pyproject.toml' and file not ilike '%.gitignore'
    and file not ilike '%.yml' and file not ilike '%.yaml' and file not ilike '%.env' and file not ilike '%.prisma'
    and file not ilike '%index.ts' and file not ilike '%index.js' and file not ilike '%mod.rs' and file not ilike '%lib.rs'
    and file not ilike '%__init__.py' and file not ilike '%routes.%'
),
islands as (
  select
    t.*,
    sum(case
      when place = place_before + 1
        and extract(epoch from work_started_at) - extract(epoch from started_before) <= $max_days * 86400 then 0
      else 1
    end) over (
      partition by machine, project, file order by place rows between unbounded preceding and current row
    ) as island
  from touched t
),
runs as (
  select
    i.*,
    count(*) over (partition by machine, project, file, island) as sessions,
    sum(edits_of_work) over (partition by machine, project, file, island) as edits_of_run,
    min(work_started_at) over (partition by machine, project, file, island) as run_started_at,
    max(case when first_file <> file or last_file <> file then 1 else 0 end) over (
      partition by machine, project, file, island
    ) as has_other_files,
    row_number() over (partition by machine, project, file, island order by place desc nulls last) as from_end
  from islands i
),
ranked as (
  select
    r.*,
    row_number() over (
      partition by machine, agent, session_id order by sessions desc nulls last, edits_of_run desc nulls last, file
    ) as rank
  from runs r
  where from_end = 1 and sessions >= $min_sessions and edits_of_run >= $min_edits * sessions and has_other_files = 1
),
findings as (
  select
    machine, agent, session_id, project, started_at, ended_at,
    count(*) as files,
    max(sessions) as sessions,
    max(case when rank = 1 then edits_of_run end) as edits_of_run,
    max(case when rank = 1 then replace(substr(file, 1, 80), chr(10), ' ') end) as file,
    max(case when rank = 1 then floor((extract(epoch from work_started_at) - extract(epoch from run_started_at)) / 86400.0) end) as days,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq
  from ranked
  group by machine, agent, session_id, project, started_at, ended_at
)
select
  'rework' as detector,
  agent,
  session_id,
  project,
  started_at,
  case when sessions >= 20 then 'high' when sessions >= 10 then 'medium' else 'low' end as severity,
  sessions as occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  first_seq,
  last_seq,
  file || case when files = 1 then '' when files = 2 then ' and 1 more file'
    else ' and ' || cast(files - 1 as text) || ' more files' end as evidence,
  cast(sessions as text) || ' sessions in a row, over ' || cast(cast(floor(days) as bigint) + 1 as text) || ' day'
    || case when days < 1 then '' else 's' end || ', edited it '
    || regexp_replace(reverse(regexp_replace(reverse(cast(edits_of_run as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' times. Check whether they undo each other''s work: a test of what was fixed keeps it fixed. If they do not, the file'
    || ' does too much: split it.' as explanation,
  'measured' as basis,
  machine
from findings
where ($since is null or ended_at >= $since)
  and ($until is null or started_at < $until)
  and ($agent is null or agent = $agent)
order by occurrences desc nulls last, edits_of_run desc nulls last, started_at, agent, machine, session_id, first_seq
