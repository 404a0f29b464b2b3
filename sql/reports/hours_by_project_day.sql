-- name: hours_by_project_day
-- title: Hours by day and project
-- group: Time -- also hours_of_week
-- about: How long a person and the agents worked on each day, by project, newest day first. A person counts as present
-- about: in the minutes before each of their prompts, as far as the session has records without a pause. Agents work
-- about: between two records of a session that follow each other without a pause, unless the later one is a prompt.
-- about: Prompts of subagents, of jobs and of the agents' own helpers are no person's. Time that two projects share counts
-- about: for both, so the day's total has a row of its own. Days are those of the session's time zone.
-- note: This is no proof of work: work away from the agents leaves no record.
-- param: pause int = 5 from 1 -- Records this far apart or further are a pause. Minutes.
-- param: automation text = '|exec|sdk-cli|' -- Entry points of jobs.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: day -- Day.
-- column: is_total -- True for the total of the day.
-- column: project -- Short name of the project; null for the total, and if the agent recorded none.
-- column: person_hours -- Time in which a person was present; that of parallel sessions counts once. Hours.
-- column: agent_hours -- Time in which agents worked; that of parallel sessions is added. Hours.
-- column: agents_alone_hours -- Time in which agents worked and no person was present; counts once. Hours.
-- column: sessions -- Sessions with such time; a subagent's session counts as part of its parent. Count.
-- show: day, project, is_total as total, person_hours as person, agent_hours as agents,
-- show: agents_alone_hours as agents alone, sessions
with numbered as (
  select
    s.machine, s.agent, s.session_id, s.project,
    not s.is_subagent and s.kind <> 'side_agent' and not coalesce(strpos($automation, '|' || s.entrypoint || '|') > 0, false)
      as has_person,
    s.machine || '/' || s.agent || '/' || s.root_session_id as root,
    row_number() over (
      order by s.machine asc nulls last, s.agent asc nulls last, s.session_id asc nulls last
    ) as number
  from sessions s
  where ($agent is null or s.agent = $agent)
    and ($project is null or s.project = $project)
),
records as (
  select
    m.machine, m.agent, m.session_id, m.timestamp as moment,
    case when m.kind in ('prompt', 'command') then 1 else 0 end as is_prompt
  from messages m
  where m.timestamp is not null
    and ($since is null or m.timestamp >= $since)
    and ($until is null or m.timestamp < $until)
    and ($agent is null or m.agent = $agent)
  union all
  select t.machine, t.agent, t.session_id, t.ended_at, 0
  from tool_calls t
  where t.ended_at is not null
    and ($since is null or t.ended_at >= $since)
    and ($until is null or t.ended_at < $until)
    and ($agent is null or t.agent = $agent)
),
in_sessions as (
  select n.number, n.has_person, r.moment, r.is_prompt
  from records r
  join numbered n on n.machine = r.machine and n.agent = r.agent and n.session_id = r.session_id
),
followed as (
  select
    r.*,
    lead(r.moment) over (
      partition by r.number order by r.moment desc nulls last, r.is_prompt asc nulls last
    ) as before
  from in_sessions r
),
intervals as (
  select
    f.number,
    cast(f.before as date) as day,
    extract(epoch from f.before) as began,
    extract(epoch from f.moment) as ended,
    case when extract(epoch from f.moment) - extract(epoch from f.before) < $pause * 60 then 1 - f.is_prompt else 0 end
      as is_agent
  from followed f
  where f.moment > f.before
),
of_session as (
  select
    day, number, min(began) as began, max(ended) as ended, max(is_agent) as has_agent,
    sum(case when is_agent = 1 then round((ended - began) * 1000) else 0 end) as agent_ms
  from intervals
  group by day, number
),
prompts as (
  select r.number, extract(epoch from r.moment) as prompted, floor(extract(epoch from r.moment) / ($pause * 60)) as stretch
  from in_sessions r
  where r.is_prompt = 1 and r.has_person
),
stretches as (
  select number, stretch, min(prompted) as first_prompted, max(prompted) as last_prompted
  from prompts
  group by number, stretch
),
-- A time shortly before a prompt is in the same stretch as the prompt, before the last one in it, or in the stretch before.
near_prompts as (
  select
    s.number, s.stretch - n.is_next as stretch,
    case when n.is_next = 1 then s.first_prompted else s.last_prompted end as prompted
  from stretches s
  cross join (select 0 as is_next union all select 1) n
),
presences as (
  select i.day, i.number, min(i.began) as began, max(i.ended) as ended
  from intervals i
  join near_prompts p on p.number = i.number and p.stretch = floor(i.began / ($pause * 60))
  where i.ended <= p.prompted and p.prompted - i.began <= $pause * 60 and i.ended - i.began < $pause * 60
  group by i.day, i.number, p.prompted
),
-- Agents work from the first to the last record of a session's day, except in the intervals that say otherwise.
pieces as (
  select day, number, began, ended, 0 as person, 1 as agents from of_session
  union all
  select day, number, began, ended, 0, -1 from intervals where is_agent = 0
  union all
  select day, number, began, ended, 1, 0 from presences
),
changes as (
  select
    p.day, p.number,
    case when s.sign = 1 then p.began else p.ended end as moment,
    p.person * s.sign as person, p.agents * s.sign as agents
  from pieces p
  cross join (select 1 as sign union all select -1) s
),
summed as (
  select day, number, moment, sum(person) as person, sum(agents) as agents
  from changes
  group by day, number, moment
),
changes_of_session as (
  select s.day, s.number, s.moment, s.person, s.agents from summed s where s.person <> 0 or s.agents <> 0
),
by_moment as (
  select
    c.day, t.is_total, case when not t.is_total then n.project end as project, c.moment,
    sum(c.person) as person, sum(c.agents) as agents
  from changes_of_session c
  join numbered n on n.number = c.number
  cross join (select false as is_total union all select true) t
  group by c.day, t.is_total, case when not t.is_total then n.project end, c.moment
),
swept as (
  select
    b.day, b.is_total, b.project,
    lead(b.moment) over moments - b.moment as seconds,
    sum(b.person) over (
      partition by b.day, b.is_total, b.project order by b.moment asc nulls last
      rows between unbounded preceding and current row
    ) as people,
    sum(b.agents) over (
      partition by b.day, b.is_total, b.project order by b.moment asc nulls last
      rows between unbounded preceding and current row
    ) as agents
  from by_moment b
  window moments as (partition by b.day, b.is_total, b.project order by b.moment asc nulls last)
),
spans as (
  select
    day, is_total, project,
    sum(case when people > 0 then round(seconds * 1000) else 0 end) as person_ms,
    sum(case when people = 0 and agents > 0 then round(seconds * 1000) else 0 end) as alone_ms
  from swept
  group by day, is_total, project
),
active as (
  select day, number, agent_ms from of_session where has_agent = 1
  union all
  select day, number, 0 from presences
),
sums as (
  select
    o.day, t.is_total, case when not t.is_total then n.project end as project,
    sum(o.agent_ms) as agent_ms, count(distinct n.root) as sessions
  from active o
  join numbered n on n.number = o.number
  cross join (select false as is_total union all select true) t
  group by o.day, t.is_total, case when not t.is_total then n.project end
)
select
  a.day,
  a.is_total,
  a.project,
  round(a.person_ms / 3600000.0, 6) as person_hours,
  round(b.agent_ms / 3600000.0, 6) as agent_hours,
  round(a.alone_ms / 3600000.0, 6) as agents_alone_hours,
  b.sessions
from spans a
join sums b on b.day = a.day and b.is_total = a.is_total and coalesce(b.project, '') = coalesce(a.project, '')
order by a.day desc nulls last, a.is_total desc nulls last, agent_hours desc nulls last, a.project nulls last
