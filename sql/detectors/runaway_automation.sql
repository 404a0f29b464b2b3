-- name: runaway_automation
-- needs: entrypoint is not null and not is_subagent
-- title: Jobs that worked for long while nobody was there
-- about: Days on which jobs of one folder started that worked for `min_hours` or cost `min_usd`, and on which no person wrote
-- about: a prompt in the same project. A job counts whole on the day on which it started, even if it worked past midnight.
-- about: Jobs are sessions whose entry point is in `automation`; their cost includes that of their subagents.
-- about: A prompt in any other session counts as a person's, even if the entry point of that session is unclear. The finding
-- about: belongs to the most expensive session of the day. A `+` after the cost means that some responses have no known
-- about: price.
-- about: Whether the work was worth its cost is not in the files, so tokens and cost are null. Severity is medium from 4 times
-- about: the thresholds on, high from 10 times.
-- note: A job that is meant to run for hours without a person is found too.
-- todo: Give jobs a limit of time or cost, and look at what they brought.
-- habit: jobs that worked for long unattended
-- param: min_hours float = 4 -- Active time of the jobs that started on the day, added up, without their subagents. Hours.
-- param: min_usd float = 10 -- Cost of the jobs that started on the day. USD.
-- param: automation text = '|exec|sdk-cli|' -- Entry points of jobs.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with jobs as (
  select
    r.machine, r.agent, r.session_id, r.project, r.project_path, r.started_at, r.ended_at, r.entrypoint, r.active_ms,
    date_trunc('day', r.started_at) as day
  from sessions r
  where not r.is_subagent
    and strpos($automation, '|' || r.entrypoint || '|') > 0
    and r.started_at is not null
    and ($project is null or r.project = $project)
    and ($agent is null or r.agent = $agent)
),
unpriced as (
  select distinct machine, agent, session_id from usage where cost_usd is null
),
costs as (
  select
    s.machine, s.agent, s.root_session_id,
    sum(round(s.cost_usd * 1e9)) as nanos,
    count(u.session_id) as unpriced
  from sessions s
  join jobs j on j.machine = s.machine and j.agent = s.agent and j.session_id = s.root_session_id
  left join unpriced u on u.machine = s.machine and u.agent = s.agent and u.session_id = s.session_id
  group by s.machine, s.agent, s.root_session_id
),
ranked as (
  select
    j.*,
    row_number() over (
      partition by j.machine, j.agent, j.project, j.project_path, j.day
      order by c.nanos desc nulls last, j.active_ms desc nulls last, j.session_id asc nulls last
    ) as place,
    count(*) over (partition by j.machine, j.agent, j.project, j.project_path, j.day) as jobs,
    sum(j.active_ms) over (partition by j.machine, j.agent, j.project, j.project_path, j.day) as active_ms_of_all,
    sum(c.nanos) over (partition by j.machine, j.agent, j.project, j.project_path, j.day) as nanos_of_all,
    sum(c.unpriced) over (partition by j.machine, j.agent, j.project, j.project_path, j.day) as unpriced_of_all
  from jobs j
  left join costs c on c.machine = j.machine and c.agent = j.agent and c.root_session_id = j.session_id
),
runaways as (
  select
    r.*,
    greatest(
      active_ms_of_all / 3600000.0 / nullif($min_hours, 0),
      coalesce(nanos_of_all, 0) / 1e9 / nullif($min_usd, 0)
    ) as times
  from ranked r
  where place = 1
    and (active_ms_of_all >= $min_hours * 3600000 or nanos_of_all >= $min_usd * 1e9)
    and ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
),
people as (
  select distinct w.project, w.project_path, w.day
  from messages m
  join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
  join runaways w
    on w.day = date_trunc('day', m.timestamp)
      and coalesce(w.project, w.project_path, '') = coalesce(s.project, s.project_path, '')
  where m.kind in ('prompt', 'command')
    and not s.is_subagent
    and not coalesce(strpos($automation, '|' || s.entrypoint || '|') > 0, false)
)
select
  'runaway_automation' as detector,
  r.agent,
  r.session_id,
  r.project,
  r.started_at,
  case when r.times >= 10 then 'high' when r.times >= 4 then 'medium' else 'low' end as severity,
  r.jobs as occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  cast(null as bigint) as first_seq,
  cast(null as bigint) as last_seq,
  cast(r.jobs as text) || case when r.jobs = 1 then ' session' else ' sessions' end || ' of ' || r.entrypoint
    || coalesce(' in ' || substr(r.project_path, 1, 200), '') || ': '
    || cast(cast(floor(r.active_ms_of_all / 60000.0) as bigint) as text) || ' minutes'
    || coalesce(', $' || cast(cast(floor(r.nanos_of_all / 1e9) as bigint) as text) || '.'
      || substr(cast(100 + cast(floor(r.nanos_of_all / 1e7) as bigint) % 100 as text), 2)
      || case when r.unpriced_of_all > 0 then '+' else '' end, '') as evidence,
  'Jobs that started here on this day worked for long, and nobody wrote a prompt in the project on it. Look at what they'
    || ' did, and give them a limit of time, turns or cost.' as explanation,
  'measured' as basis,
  r.machine
from runaways r
left join people p
  on p.day = r.day and coalesce(p.project, '') = coalesce(r.project, '')
    and coalesce(p.project_path, '') = coalesce(r.project_path, '')
where p.day is null
order by r.times desc nulls last, r.started_at, r.agent, r.machine, r.session_id
