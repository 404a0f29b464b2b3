-- name: permission_friction
-- title: Permissions that were refused again and again
-- about: Sessions in which tool calls were refused several times, and which tools: by the person, or by the agent itself,
-- about: where a rule, a mode or a hook forbids them or nobody could be asked. Calls that one response made together are one
-- about: refusal, because one answer stops them all. Plans that were sent back and questions that were not answered are no
-- about: refusals: that is how plans are made. What friction wastes is the person's time, so tokens and cost are null;
-- about: 5 refusals are medium, 10 high.
-- param: min_refusals int = 3 -- Refusals in a session. Count.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.tool_calls
  from sessions s
  where s.tool_calls >= $min_refusals
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
rejected as (
  select
    t.machine, t.agent, t.session_id, t.seq, t.name,
    coalesce(t.response_id, t.message_id, t.call_id) as try_id,
    t.is_denied,
    replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' ') as what
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where (t.status = 'rejected' or t.is_denied)
    and lower(replace(t.name, '_', '')) not in (
      'exitplanmode', 'planexit', 'askuserquestion', 'askuser', 'question', 'requestuserinput', 'askfollowupquestion',
      'planmoderespond', 'exitspecmode'
    )
),
tools as (
  select
    machine, agent, session_id, name,
    count(distinct try_id) as refusals,
    row_number() over (partition by machine, agent, session_id order by count(distinct try_id) desc nulls last, name) as place
  from rejected
  group by machine, agent, session_id, name
),
named as (
  select
    machine, agent, session_id,
    max(case when place = 1 then refused end)
      || coalesce(', ' || max(case when place = 2 then refused end), '')
      || coalesce(', ' || max(case when place = 3 then refused end), '')
      || case when max(places) > 3 then ' and others' else '' end as tools
  from (
    select
      *,
      substr(name, 1, 40) || ' ' || cast(refusals as text) as refused,
      max(place) over (partition by machine, agent, session_id) as places
    from tools
  ) as counted
  where place <= 3
  group by machine, agent, session_id
),
latest as (
  select
    *,
    row_number() over (partition by machine, agent, session_id order by seq desc nulls last) as back
  from rejected
),
frictions as (
  select
    machine, agent, session_id,
    count(distinct try_id) as occurrences,
    count(distinct case when is_denied then try_id end) as denials,
    min(seq) as first_seq,
    max(seq) as last_seq,
    max(case when back = 1 then name || coalesce(' ' || what, '') end) as last_call
  from latest
  group by machine, agent, session_id
  having count(distinct try_id) >= $min_refusals
)
select
  'permission_friction' as detector,
  f.agent,
  f.session_id,
  c.project,
  c.started_at,
  case when f.occurrences >= 10 then 'high' when f.occurrences >= 5 then 'medium' else 'low' end as severity,
  f.occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  n.tools || '; last: ' || f.last_call as evidence,
  case when f.denials = 0 then 'You refused '
       when f.denials >= f.occurrences then 'Your settings refused '
       else 'You and your settings refused ' end
    || cast(f.occurrences as text) || ' times what the agent wanted to do'
    || case when f.denials > 0 and f.denials < f.occurrences then ' (the settings ' || cast(f.denials as text) || ' times)'
            else '' end
    || ', in a session of ' || cast(c.tool_calls as text) || ' tool calls. Allow in the agent''s settings what is'
    || ' always fine, forbid there what never is, and tell it in its instructions what not to try.' as explanation,
  'measured' as basis,
  f.machine
from frictions f
join named n on n.machine = f.machine and n.agent = f.agent and n.session_id = f.session_id
join chosen c on c.machine = f.machine and c.agent = f.agent and c.session_id = f.session_id
order by f.occurrences desc nulls last, c.started_at, f.agent, f.machine, f.session_id, f.first_seq
