-- name: tool_retry_loops
-- needs: tool_calls >= $min_run
-- scope: session
-- title: The same call again and again
-- about: Runs of tries of one tool with the same or nearly the same input, with the same error, or of edits of the same
-- about: file, in which all but the last failed or returned the same. Calls that one response made together count as one
-- about: try. Calls that the person declined and notes on a todo list are skipped. Any other call in between (above all an
-- about: edit) and each prompt of the person begin a new run.
-- about: Edits that succeeded never have the same result, nor do short results of inputs that are only nearly the same. A
-- about: search that found nothing has not failed. Steps in a browser or a terminal (scrolling, pressing a key) repeat on
-- about: purpose. A run that only waits for a process needs `min_waits` tries, and does not count if the prompt asked to
-- about: wait. A run without a failure does not count if the prompt asked to repeat it. A run whose last try brought
-- about: something new needs `min_converged` tries.
-- about: The waste is the cost of the responses that made the tries after the first, except a last one that brought
-- about: something new.
-- about: Severity depends on the waste or the count: medium from 0.5 USD or 5 tries on, high from 5 USD or 10. For waits, it
-- about: depends on the waste only.
-- todo: Interrupt, and tell the agent what is different.
-- habit: the same call again and again
-- param: min_run int = 3 -- Fewest tries in a row. Count.
-- param: min_converged int = 4 -- Fewest tries if the last one brought something new. Count.
-- param: min_waits int = 10 -- Fewest tries if they only wait for a process. Count.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at,
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
    c.number, t.is_sidechain, t.seq, t.turn, t.name, t.category, t.status, t.output_bytes, t.error_key, t.command,
    -- Engines keep short texts in place; within a session, 12 digits tell keys apart.
    substr(t.input_key, 1, 12) as input,
    substr(t.input_shape, 1, 12) as shape,
    substr(t.output_key, 1, 12) as output,
    substr(t.error_key, 1, 12) as error,
    case when t.category in ('edit', 'write') then t.file_path end as edited,
    coalesce(t.exit_code, 1) = 1
      and (t.exit_code is not null or t.error_key is null or coalesce(t.output_bytes, 0) <= 30) as may_say_no,
    case
      -- The last command decides on the exit code: quoted texts, all before the last separator and variables are cut off.
      when t.status = 'error' and t.category = 'shell' then regexp_replace(
        regexp_replace(coalesce(t.command, ''), '"(\\.|[^"\\])*"|''[^'']*''', 'x', 'g'),
        '^([\s\S]*(&&|[|;\n]))? *([A-Za-z0-9_]+=[^ \n]* +)*', '')
      else ''
    end as last_command,
    coalesce(t.response_id, t.message_id, t.call_id) as try_id
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.status in ('ok', 'error') and t.category <> 'todo'
),
judged as (
  select
    *,
    status = 'error' and not (
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
    ) as has_failed,
    coalesce(category = 'browser' and output_bytes < 200 or command like '%send-keys%', false) as is_step,
    status = 'ok' and (
      name in ('write_stdin', 'process', 'list_agents')
      or lower(name) like '%output'
      or lower(name) like '%wait%'
      or lower(name) like '%poll%'
      or lower(name) like '%status%'
      or lower(name) like '%monitor%'
      or command like '%sleep %'
      or command like 'gh run %'
      or command like 'gh pr checks%'
    ) as is_wait
  from calls
),
-- Responses that made several calls. Most made one, which is one try: grouping these too would take most of the query's
-- time.
several as (
  select number, is_sidechain, try_id
  from judged
  group by number, is_sidechain, try_id
  having count(*) > 1
),
tries as (
  select
    j.number, j.is_sidechain, j.try_id,
    j.seq as first_seq,
    j.seq as last_seq,
    coalesce(j.turn, 0) as turn,
    j.name as tool,
    1 as calls,
    j.input,
    j.shape,
    j.output,
    j.error,
    j.has_failed,
    coalesce(j.is_wait, false) as is_wait,
    j.category in ('edit', 'write') as is_edit,
    j.is_step,
    j.edited,
    j.output_bytes >= 100 as is_long
  from judged j
  left join several s on s.number = j.number and s.is_sidechain = j.is_sidechain and s.try_id = j.try_id
  where s.try_id is null
  union all
  select
    j.number, j.is_sidechain, j.try_id,
    min(j.seq) as first_seq,
    max(j.seq) as last_seq,
    coalesce(min(j.turn), 0) as turn,
    min(j.name) as tool,
    count(*) as calls,
    min(j.input) || max(j.input) as input,
    min(j.shape) || max(j.shape) as shape,
    min(j.output) || max(j.output) as output,
    min(j.error) as error,
    bool_and(j.has_failed) as has_failed,
    bool_or(coalesce(j.is_wait, false)) as is_wait,
    bool_or(j.category in ('edit', 'write')) as is_edit,
    bool_or(j.is_step) as is_step,
    min(j.edited) as edited,
    min(j.output_bytes) >= 100 as is_long
  from judged j
  join several s on s.number = j.number and s.is_sidechain = j.is_sidechain and s.try_id = j.try_id
  group by j.number, j.is_sidechain, j.try_id
),
ordered as (
  select *, cast(row_number() over (partition by number, is_sidechain order by first_seq, try_id) as bigint) as place
  from tries
),
-- Tries of the same tool as the one before.
compared as (
  select
    t.*,
    p.first_seq as previous_seq,
    p.has_failed as has_previous_failed,
    p.is_wait as was_wait,
    coalesce(t.input = p.input, false) as is_same_input,
    coalesce(t.shape = p.shape, false) as is_same_shape,
    coalesce(t.edited = p.edited, false) as is_same_file,
    coalesce(t.error = p.error, false) as is_same_error,
    coalesce(t.output = p.output, false) as is_same_output
  from ordered t
  join ordered p
    on p.number = t.number and p.is_sidechain = t.is_sidechain and p.place + 1 = t.place
    and p.tool = t.tool and p.calls = t.calls and p.turn = t.turn
),
repeats as (
  select
    *,
    coalesce(lag(place) over thread = place - 1, false) as goes_on,
    coalesce(lead(place) over thread = place + 1, false) as is_continued
  from compared
  where (
      has_previous_failed
      and (is_same_input or is_same_shape or is_same_file or (has_failed and is_same_error))
    )
    or (not is_edit and not is_step and is_same_output and (is_same_input or (is_long and is_same_shape)))
  window thread as (partition by number, is_sidechain order by place)
),
placed as (
  select
    *,
    -- The last try of a run that brought something new was none in vain.
    not is_continued and not has_failed and not is_same_output as is_success,
    sum(case when goes_on then 0 else 1 end) over (
      partition by number, is_sidechain order by place rows between unbounded preceding and current row
    ) as run
  from repeats
),
costs as (
  select c.number, u.response_id, sum(u.total_tokens) as tokens, sum(u.cost_usd) as cost
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  join (select distinct number, try_id from repeats) r on r.number = c.number and r.try_id = u.response_id
  group by c.number, u.response_id
),
runs as (
  select
    p.number, p.is_sidechain, p.run,
    min(p.turn) as turn,
    count(*) + 1 as occurrences,
    sum(case when p.has_failed then 1 else 0 end)
      + max(case when not p.goes_on and p.has_previous_failed then 1 else 0 end) as failures,
    bool_or(p.is_success) as has_converged,
    bool_or(p.is_wait or p.was_wait) as is_wait,
    bool_and(p.is_same_input) as is_same_input,
    bool_and(p.is_same_input or p.is_same_shape) as is_same_shape,
    bool_and(p.is_same_file) as is_same_file,
    min(p.previous_seq) as first_seq,
    max(p.last_seq) as last_seq,
    sum(case when p.is_success then 0 else k.tokens end) as wasted_tokens,
    sum(round(case when p.is_success then 0 else k.cost end * 1e9)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(k.response_id) filter (where not p.is_success and k.response_id is not null)) as responses
  from placed p
  left join costs k on k.number = p.number and k.response_id = p.try_id
  group by p.number, p.is_sidechain, p.run
),
-- Prompts that asked for something that looks like a loop.
asked as (
  select
    number, turn,
    bool_or(
      text like '%wait%' or text like '%sleep%' or text like '%poll%' or text like '%monitor%' or text like '%watch%'
        or text like '%until %' or text like '%every % min%' or text like '%every % sec%' or text like '%keep checking%'
        or text like '%keep an eye%'
    ) as is_wait,
    bool_or(
      text like '% times%' or text like '%repeatedly%' or text like '%in a loop%' or text like '%flaky%'
        or text like '%benchmark%' or text like '%again and again%'
    ) as is_repeat
  from (
    select r.number, r.turn, lower(substr(m.text, 1, 4000)) as text
    from (select distinct number, turn from runs where is_wait or failures = 0) r
    join chosen c on c.number = r.number
    join messages m
      on m.machine = c.machine and m.agent = c.agent and m.session_id = c.session_id and m.turn = r.turn
    where m.kind in ('prompt', 'command')
  ) as prompts
  group by number, turn
)
select
  'tool_retry_loops' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when r.wasted_cost_usd >= 5 or (r.occurrences >= 10 and not r.is_wait) then 'high'
       when r.wasted_cost_usd >= 0.5 or (r.occurrences >= 5 and not r.is_wait) then 'medium'
       else 'low' end as severity,
  r.occurrences,
  r.wasted_tokens,
  r.wasted_cost_usd,
  r.first_seq,
  r.last_seq,
  t.name || coalesce(' ' || replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' '), '')
    || ', ' || cast(r.occurrences as text) || ' times' as evidence,
  t.name || ' was tried '
    || regexp_replace(reverse(regexp_replace(reverse(cast(r.occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' times in a row with '
    || case when r.is_same_file then 'the same file'
            when r.is_same_input then 'the same input'
            when r.is_same_shape then 'nearly the same input'
            else 'several inputs' end
    || case when r.failures = r.occurrences then ', and failed each time'
            when r.failures = 0 then ', and returned the same'
            when r.failures = 1 then ', and failed once'
            else ', and failed ' || cast(r.failures as text) || ' times' end
    || case when r.has_converged then ' before it brought something new.' else '.' end
    || case when r.is_wait then ' Wait with one command that ends when the process does.'
            when r.failures = 0 then ' The result was in the context already: tell the agent to go on when a result repeats.'
            when r.is_same_file then ' Tell the agent to read the file again after an edit that failed.'
            else ' Tell the agent to read the error, and to try something else after two equal failures.' end as explanation,
  'measured' as basis,
  c.machine,
  r.responses
from runs r
join chosen c on c.number = r.number
join tool_calls t
  on t.machine = c.machine and t.agent = c.agent and t.session_id = c.session_id and t.seq = r.first_seq
left join asked a on a.number = r.number and a.turn = r.turn
where not (r.is_wait and coalesce(a.is_wait, false))
  and not (r.failures = 0 and coalesce(a.is_repeat, false))
  and r.occurrences >= case
    when r.is_wait then greatest($min_run, $min_waits)
    when r.has_converged then greatest($min_run, $min_converged)
    else $min_run
  end
order by
  r.wasted_cost_usd desc nulls last, r.occurrences desc nulls last, c.started_at, c.agent, c.machine, c.session_id, r.first_seq
