-- name: polling
-- needs: tool_calls >= $min_run
-- scope: session
-- title: Responses that only wait and look again
-- about: Runs of responses of one turn whose calls only wait, or check whether something has ended. Such a call is a
-- about: command that begins with a sleep, a request for the output of a background task, an empty input to a terminal,
-- about: or the same status command as in the previous response. Each of them pays for the whole context. Turns whose
-- about: prompt asked to watch something are left out.
-- about: The waste is the cost of all responses of a run except the last, which brought the answer.
-- about: Severity depends on the waste or the count: medium from 0.5 USD or 20 responses on, high from 5 USD.
-- todo: Let one command wait until the work has ended, or run it in the background.
-- habit: paying a response for each look at progress
-- param: min_run int = 4 -- Fewest responses in a row that only wait or look. Count.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.tool_calls >= $min_run
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
calls as (
  select
    c.number, t.is_sidechain, coalesce(t.turn, 0) as turn, t.seq, t.input_key,
    coalesce(t.response_id, t.message_id, t.call_id) as response_id,
    t.started_at, t.name,
    case when t.category = 'shell' then ltrim(lower(substr(coalesce(t.command, ''), 1, 200))) else '' end as command,
    lower(t.name) in (
      'bashoutput', 'taskoutput', 'agentoutputtool', 'bash_output', 'task_output', 'get_terminal_output', 'command_status',
      'read_terminal', 'check_command_status', 'wait', 'wait_agent', 'await', 'sleep'
    )
      or (t.name = 'write_stdin' and (t.input like '%"chars":""%' or t.input not like '%"chars"%')) as is_wait
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.category <> 'todo'
),
-- Calls that one response made together count as one look.
tries as (
  select
    number, is_sidechain, turn, response_id,
    min(seq) as first_seq,
    max(seq) as last_seq,
    min(started_at) as started_at,
    max(name) as name,
    max(command) as command,
    count(*) as calls,
    max(input_key) as input_key,
    bool_and(is_wait or command like 'sleep %' or command like 'start-sleep %') as is_wait,
    bool_and(regexp_replace(
      command,
      '^(gh (run|pr|workflow) (view|list|checks|status|watch)|glab ci|tail |ps( |$)|pgrep |jobs|kubectl (get|describe|logs)'
        || '|docker (ps|logs|inspect)|squeue|systemctl status|curl .*(health|status|ready)|git ls-remote|(ls|wc|cat|stat) )',
      ''
    ) <> command) as is_check
  from calls
  group by number, is_sidechain, turn, response_id
),
looks as (
  select
    *,
    is_wait or (is_check and calls = 1 and input_key = lag(input_key) over (
      partition by number, is_sidechain, turn order by first_seq, response_id
    )) as is_look
  from tries
),
numbered as (
  select
    *,
    sum(case when coalesce(is_look, false) then 0 else 1 end) over (
      partition by number, is_sidechain, turn order by first_seq, response_id
      rows between unbounded preceding and current row
    ) as run
  from looks
),
placed as (
  select
    *,
    count(*) over (partition by number, is_sidechain, turn, run) as looks,
    row_number() over (
      partition by number, is_sidechain, turn, run order by first_seq desc nulls last, response_id desc nulls last
    ) as place
  from numbered
  where is_look
),
asked as (
  select c.number, m.turn, max(lower(substr(m.text, 1, 2000))) as prompt
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind in ('prompt', 'command') and not m.is_sidechain
  group by c.number, m.turn
),
costs as (
  select c.number, u.response_id, sum(u.total_tokens) as tokens, sum(round(u.cost_usd * 1e9)) as nanos
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response'
  group by c.number, u.response_id
),
found as (
  select
    p.number, p.is_sidechain, p.turn, p.run,
    count(*) as occurrences,
    min(p.first_seq) as first_seq,
    max(p.last_seq) as last_seq,
    max(case when p.place = p.looks then p.name end) as name,
    max(case when p.place = p.looks then replace(substr(p.command, 1, 80), chr(10), ' ') end) as command,
    cast(floor((extract(epoch from max(p.started_at)) - extract(epoch from min(p.started_at))) / 60) as bigint) as minutes,
    sum(case when p.place > 1 then k.tokens end) as wasted_tokens,
    sum(case when p.place > 1 then k.nanos end) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(p.response_id) filter (where p.place > 1)) as responses
  from placed p
  left join costs k on k.number = p.number and k.response_id = p.response_id
  left join asked a on a.number = p.number and a.turn = p.turn
  where p.looks >= $min_run
    and (a.prompt is null or regexp_replace(
      a.prompt,
      'sleep|poll|monitor|babysit|watch|every [0-9a-z]+ (sec|min|hour)|keep (checking|looking|an eye)|check (back|every)', ''
    ) = a.prompt)
  group by p.number, p.is_sidechain, p.turn, p.run
)
select
  'polling' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when f.wasted_cost_usd >= 5 then 'high'
       when f.wasted_cost_usd >= 0.5 or f.occurrences >= 20 then 'medium'
       else 'low' end as severity,
  f.occurrences,
  f.wasted_tokens,
  f.wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  f.name || coalesce(' ' || nullif(f.command, ''), '') || ' and ' || cast(f.occurrences - 1 as text) || ' more' as evidence,
  regexp_replace(reverse(regexp_replace(reverse(cast(f.occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' responses in a row only waited and looked again'
    || case when f.minutes >= 2 then ', for ' || regexp_replace(reverse(regexp_replace(reverse(cast(f.minutes as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' minutes' else '' end
    || '. Let one command wait to the end (a longer timeout, `gh run watch`, a loop in the shell), or let the agent stop '
    || 'and ask again when it is done.' as explanation,
  'measured' as basis,
  c.machine,
  f.responses
from found f
join chosen c on c.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
