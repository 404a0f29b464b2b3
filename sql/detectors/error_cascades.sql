-- name: error_cascades
-- needs: tool_errors >= $min_run
-- scope: session
-- title: Tool calls that failed one after the other
-- about: Runs of tool calls of one thread that all ended in error. Calls that one response made together count as one
-- about: try, because the agent learns of their errors at once. Calls that the person declined are no errors. Neither
-- about: they nor notes on a todo list end a run. Two kinds of commands with an exit code other than 0 have not failed,
-- about: and end a run as a success does. One kind looks for something and says no with exit code 1 (grep, rg, test,
-- about: diff, which and similar). The other shows its options (`--help`, or a bare call that answers with its usage).
-- about: The waste is the cost of the responses that made the calls after the first: each was a try that failed.
-- about: Severity depends on the waste or the count: medium from 0.5 USD or 5 tries on, high from 5 USD or 10.
-- todo: Stop after the second failure and say what is wrong. Add the fix to the project's instructions.
-- habit: letting the agent run from failure to failure
-- param: min_run int = 3 -- Fewest failed tries in a row. Count.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.tool_errors >= $min_run
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
-- Failed calls. Their texts are cut before the join, which would copy them.
errors as (
  select c.number, t.seq, t.category, t.name, t.command, t.file_path, t.output, t.exit_code
  from (
    select
      machine, agent, session_id, seq, category, name, file_path, exit_code,
      substr(command, 1, 501) as command,
      substr(output, 1, 600) as output
    from tool_calls
    where status = 'error'
  ) t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
),
-- Failed commands without arguments, or with only a subcommand, whose output shows how to use them.
usages as (
  select number, seq
  from errors
  where category = 'shell'
    and length(command) <= 500
    and regexp_replace(command, '^([\s\S]*(&&|[|;\n]))? *[^ \n]+( [a-z][a-z-]*)? *(2>&1)? *$', '') = ''
    and (lower(output) like '%usage:%' or lower(output) like '%options:%' or lower(output) like '%commands:%')
),
calls as (
  select
    c.number, t.is_sidechain, t.seq, t.status, t.error_key,
    coalesce(t.exit_code, 1) = 1
      and (t.exit_code is not null or t.error_key is null or coalesce(t.output_bytes, 0) <= 30) as may_say_no,
    case
      -- The last command decides on the exit code: quoted texts, all before the last separator and variables are cut off.
      when t.status = 'error' and t.category = 'shell' then regexp_replace(
        regexp_replace(coalesce(t.command, ''), '"(\\.|[^"\\])*"|''[^'']*''', 'x', 'g'),
        '^([\s\S]*(&&|[|;\n]))? *([A-Za-z0-9_]+=[^ \n]* +)*', '')
      else ''
    end as last_command,
    u.number is not null as shows_usage,
    coalesce(t.response_id, t.message_id, t.call_id) as try_id
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  left join usages u on u.number = c.number and u.seq = t.seq
  where t.status in ('ok', 'error') and t.category <> 'todo'
),
judged as (
  select
    *,
    status = 'error'
    and not shows_usage
    and regexp_replace(last_command, '( --help([ \n]|$)|^[^ \n]+( [a-z-]+)* (-h|help) *$)', '') = last_command
    and not (
      may_say_no
      and (
        split_part(last_command, ' ', 1) in (
          'grep', 'egrep', 'fgrep', 'zgrep', 'rg', 'ag', 'ack', 'diff', 'cmp', 'test', '[', '[[', 'which', 'command',
          'type', 'pgrep', 'lsof'
        )
        or last_command like 'git grep %'
        or last_command like 'git diff %'
        or (last_command like 'find %' and error_key is null)
      )
    ) as has_failed
  from calls
),
tries as (
  select
    number, is_sidechain, try_id,
    min(seq) as first_seq,
    max(seq) as last_seq,
    max(error_key) as error_key,
    bool_and(has_failed) as has_failed
  from judged
  group by number, is_sidechain, try_id
),
numbered as (
  select
    *,
    sum(case when has_failed then 0 else 1 end) over (
      partition by number, is_sidechain order by first_seq, try_id
      rows between unbounded preceding and current row
    ) as run
  from tries
),
failures as (
  select
    *,
    row_number() over (partition by number, is_sidechain, run order by first_seq, try_id) as place
  from numbered
  where has_failed
),
costs as (
  select c.number, u.response_id, sum(u.total_tokens) as tokens, sum(u.cost_usd) as cost
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  group by c.number, u.response_id
),
runs as (
  select
    f.number, f.is_sidechain, f.run,
    count(*) as occurrences,
    count(distinct f.error_key) as errors,
    min(f.first_seq) as first_seq,
    max(f.last_seq) as last_seq,
    sum(case when f.place > 1 then k.tokens end) as wasted_tokens,
    sum(round(case when f.place > 1 then k.cost end * 1e9)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(k.response_id) filter (where f.place > 1 and k.response_id is not null)) as responses
  from failures f
  left join costs k on k.number = f.number and k.response_id = f.try_id
  group by f.number, f.is_sidechain, f.run
  having count(*) >= $min_run
),
-- The calls of a run, each with the first meaningful line of its error.
named as (
  select
    r.number, r.is_sidechain, r.run, f.place,
    t.name || coalesce(' ' || replace(substr(coalesce(t.command, t.file_path), 1, 60), chr(10), ' '), '') || ': '
      || coalesce(
        nullif(trim(substr(split_part(
          regexp_replace(
            regexp_replace(t.output, '^[\s\S]*\n(Output|Error):\n|</tool_use_error>', ''),
            '^(Exit code:? [0-9]+|<tool_use_error>|Error:|\s)+', ''
          ), chr(10), 1), 1, 80)), ''),
        'exit code ' || cast(t.exit_code as text),
        'no message'
      ) as call
  from runs r
  join failures f on f.number = r.number and f.is_sidechain = r.is_sidechain and f.run = r.run and f.place <= 5
  join errors t on t.number = f.number and t.seq = f.first_seq
),
listed as (
  select
    number, is_sidechain, run,
    max(case when place = 1 then call end)
      || coalesce('; ' || max(case when place = 2 then call end), '')
      || coalesce('; ' || max(case when place = 3 then call end), '')
      || coalesce('; ' || max(case when place = 4 then call end), '')
      || coalesce('; ' || max(case when place = 5 then call end), '') as calls
  from named
  group by number, is_sidechain, run
)
select
  'error_cascades' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when r.wasted_cost_usd >= 5 or r.occurrences >= 10 then 'high'
       when r.wasted_cost_usd >= 0.5 or r.occurrences >= 5 then 'medium'
       else 'low' end as severity,
  r.occurrences,
  r.wasted_tokens,
  r.wasted_cost_usd,
  r.first_seq,
  r.last_seq,
  l.calls || case when r.occurrences > 5 then '; and ' || cast(r.occurrences - 5 as text) || ' more' else '' end as evidence,
  cast(r.occurrences as text) || ' tries in a row failed'
    || case r.errors when 0 then '' when 1 then ' with the same error' else ' with ' || cast(r.errors as text) || ' different errors' end
    || case
      when r.errors = 1 then '. Tell the agent what is missing, and put it into the project''s instructions for agents.'
      else '. Interrupt the agent after the second failure, and have it find the cause of the first error before it goes on.'
    end as explanation,
  'measured' as basis,
  c.machine,
  r.responses
from runs r
join chosen c on c.number = r.number
join listed l on l.number = r.number and l.is_sidechain = r.is_sidechain and l.run = r.run
order by
  r.wasted_cost_usd desc nulls last, r.occurrences desc nulls last, c.started_at, c.agent, c.machine, c.session_id, r.first_seq
