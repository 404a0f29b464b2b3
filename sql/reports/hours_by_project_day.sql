-- name: hours_by_project_day
-- title: Hours by day and project
-- group: Time -- also hours_of_week
-- about: How long a person and the agents worked on each day, by project, newest day first. A person counts as present
-- about: in the minutes before each of their prompts, as far as the session has records without a pause. Agents work
-- about: between two records of a session that follow each other without a pause, unless the later one is a prompt.
-- about: Subagents count as agents. Time that two projects share counts for both, so the day's total has a row of its
-- about: own. Days are those of the session's time zone.
-- note: This is no proof of work: work away from the agents leaves no record.
-- param: pause int = 5 -- Records this far apart or further are a pause. Minutes.
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
-- show: day, project, person_hours as person, agent_hours as agents, agents_alone_hours as agents alone, sessions,
-- show: is_total
with numbered as (
  select
    s.machine, s.agent, s.session_id, s.project, s.is_subagent,
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
  select n.number, n.is_subagent, r.moment, r.is_prompt
  from records r
  join numbered n on n.machine = r.machine and n.agent = r.agent and n.session_id = r.session_id
),
followed as (
  select
    r.*,
    lead(r.moment) over newest_first as before,
    min(case when r.is_prompt = 1 then r.moment end) over (
      partition by r.number
      order by r.moment desc nulls last, r.is_prompt asc nulls last
      rows between unbounded preceding and current row
    ) as next_prompt
  from in_sessions r
  window newest_first as (partition by r.number order by r.moment desc nulls last, r.is_prompt asc nulls last)
),
timed as (
  select
    f.number, f.is_subagent, f.is_prompt,
    cast(f.before as date) as day,
    extract(epoch from f.before) as began,
    extract(epoch from f.moment) as ended,
    extract(epoch from f.next_prompt) as next_prompt
  from followed f
  where f.moment > f.before
),
intervals as (
  select
    t.day, t.number, t.began, t.ended,
    case when not t.is_subagent and t.next_prompt - t.began <= $pause * 60 then 1 else 0 end as is_person,
    1 - t.is_prompt as is_agent
  from timed t
  where t.ended - t.began < $pause * 60
),
changes as (
  select day, number, began as moment, is_person as person, is_agent as agents from intervals
  union all
  select day, number, ended, -is_person, -is_agent from intervals
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
  select c.day, false as is_total, n.project, c.moment, sum(c.person) as person, sum(c.agents) as agents
  from changes_of_session c
  join numbered n on n.number = c.number
  group by c.day, n.project, c.moment
  union all
  select c.day, true, cast(null as text), c.moment, sum(c.person), sum(c.agents)
  from changes_of_session c
  group by c.day, c.moment
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
of_session as (
  select day, number, sum(case when is_agent = 1 then round((ended - began) * 1000) else 0 end) as agent_ms
  from intervals
  where is_person = 1 or is_agent = 1
  group by day, number
),
sums as (
  select o.day, false as is_total, n.project, sum(o.agent_ms) as agent_ms, count(distinct n.root) as sessions
  from of_session o
  join numbered n on n.number = o.number
  group by o.day, n.project
  union all
  select o.day, true, cast(null as text), sum(o.agent_ms), count(distinct n.root)
  from of_session o
  join numbered n on n.number = o.number
  group by o.day
)
select
  a.day,
  a.is_total,
  a.project,
  round(a.person_ms / 3600000.0, 2) as person_hours,
  round(b.agent_ms / 3600000.0, 2) as agent_hours,
  round(a.alone_ms / 3600000.0, 2) as agents_alone_hours,
  b.sessions
from spans a
join sums b on b.day = a.day and b.is_total = a.is_total and coalesce(b.project, '') = coalesce(a.project, '')
order by a.day desc nulls last, a.is_total desc nulls last, agent_hours desc nulls last, a.project nulls last
