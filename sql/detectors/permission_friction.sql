-- name: permission_friction
-- needs: tool_rejections + tool_errors >= 1
-- scope: session
-- title: Permissions refused again and again
-- about: Sessions in which tool calls were refused several times, and the tools: by the person, or by the agent itself,
-- about: because a rule, a mode or a hook forbids them or nobody could be asked. Calls that one response made together are
-- about: one refusal, because one answer stops them all. A refusal with instructions, in itself or in the prompt after it,
-- about: is steering and does not count, unless a command of the same program and subcommand was refused before. Plans
-- about: that were sent back and questions that were not answered do not count: they are a normal part of planning.
-- about: Refusals cost the person's time, so tokens and cost are null. Severity is medium from 5 refusals on, high from
-- about: 10.
-- todo: Allow what you always allow; deny the rest in the settings.
-- habit: permissions refused again and again
-- param: min_refusals int = 3 -- Fewest refusals in a session. Count.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.tool_calls
  from sessions s
  where s.tool_calls >= $min_refusals
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
rejected as (
  select
    t.machine, t.agent, t.session_id, t.seq, t.name,
    coalesce(t.response_id, t.message_id, t.call_id) as try_id,
    coalesce(t.is_denied, false) as is_denied,
    coalesce(
      t.output like '%the user said:%' or t.output like '%reason for the rejection:%'
        or t.output like '%feedback:%',
      false
    ) as has_reason,
    case when t.category = 'shell' then split_part(t.command, ' ', 1) || ' ' || split_part(t.command, ' ', 2) end as program,
    replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' ') as what
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where (t.status = 'rejected' or t.is_denied)
    and lower(replace(t.name, '_', '')) not in (
      'exitplanmode', 'planexit', 'askuserquestion', 'askuser', 'question', 'requestuserinput', 'askfollowupquestion',
      'planmoderespond', 'exitspecmode'
    )
),
-- What follows a refusal: more work of the agent, or a prompt. A prompt of one word, or one to go on, is no instruction.
followed as (
  select
    machine, agent, session_id, try_id,
    coalesce(lead(is_instruction) over (partition by machine, agent, session_id order by seq, try_id), false)
      as is_instructed
  from (
    select machine, agent, session_id, max(seq) as seq, try_id, false as is_instruction
    from rejected
    group by machine, agent, session_id, try_id
    union all
    select
      m.machine, m.agent, m.session_id, m.seq, null as try_id,
      m.kind = 'prompt' and trim(m.text) like '% %' and lower(trim(m.text)) not in (
        'go on', 'go ahead', 'try again', 'keep going', 'carry on', 'please continue', 'continue please', 'do it'
      ) as is_instruction
    from messages m
    join (select distinct machine, agent, session_id from rejected) r
      on r.machine = m.machine and r.agent = m.agent and r.session_id = m.session_id
    where m.kind in ('prompt', 'reply')
  ) as events
),
judged as (
  select
    r.*,
    row_number() over (partition by r.machine, r.agent, r.session_id, r.program order by r.seq) as attempt,
    r.has_reason or (not r.is_denied and f.is_instructed) as is_steering
  from rejected r
  join followed f
    on f.machine = r.machine and f.agent = r.agent and f.session_id = r.session_id and f.try_id = r.try_id
),
refused as (
  select *
  from judged
  where not is_steering or (program is not null and attempt > 1)
),
tools as (
  select
    machine, agent, session_id, name,
    count(distinct try_id) as refusals,
    row_number() over (partition by machine, agent, session_id order by count(distinct try_id) desc nulls last, name) as place
  from refused
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
  from refused
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
    || cast(f.occurrences as text) || case when f.occurrences = 1 then ' request' else ' requests' end || ' of the agent'
    || case when f.denials > 0 and f.denials < f.occurrences then ' (the settings ' || cast(f.denials as text) || ')'
            else '' end
    || ', in a session of '
    || regexp_replace(reverse(regexp_replace(reverse(cast(c.tool_calls as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tool calls. Allow in the agent''s settings what is always fine, deny what never is, and list in its'
    || ' instructions what it must not try.' as explanation,
  'measured' as basis,
  f.machine
from frictions f
join named n on n.machine = f.machine and n.agent = f.agent and n.session_id = f.session_id
join chosen c on c.machine = f.machine and c.agent = f.agent and c.session_id = f.session_id
order by f.occurrences desc nulls last, c.started_at, f.agent, f.machine, f.session_id, f.first_seq
