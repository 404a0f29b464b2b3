-- name: reread_files
-- needs: tool_calls > $min_rereads
-- scope: session
-- title: Unchanged files read again
-- about: Reads of a file (with a tool, or with cat, head, nl and sed -n in a shell) that asked for the same part and got
-- about: the same text as the previous read, while that text was still in the context. Between the two reads there is no
-- about: compaction, no attempt to edit the file, no command that changes many files (checkout, pull, patch, a formatter),
-- about: no subagent, and no prompt that asks to look again. Left out are reads long after the previous one (the person
-- about: may have changed the file), small results (pictures leave only a mark), logs that are watched, and branches that
-- about: the conversation left. There is one finding for each context of a session, from compaction to compaction.
-- about: The waste is the cost of the responses that asked again, each by the share of its calls that did. It is
-- about: `measured` if all calls did. Severity depends on the waste (medium from 0.5 USD on, high from 5) or the count:
-- about: medium from 10 reads on, high from 25.
-- todo: Name the lines that matter, or keep a summary in the instructions.
-- habit: unchanged files read again
-- param: min_rereads int = 2 -- Fewest needless reads in one context. Count.
-- param: max_minutes int = 30 -- Longest time since the previous read; a later one is a check. Minutes.
-- param: min_bytes int = 200 -- Smallest result that counts. Bytes.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  -- Sessions go by a number, because the windows below are over many rows.
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as session_no
  from sessions s
  where s.tool_calls > $min_rereads
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
calls as (
  select
    c.session_no, t.seq, t.category, t.file_path, t.message_id, t.response_id, t.is_sidechain, t.started_at, t.input_key,
    t.output_key, t.command,
    t.status = 'ok'
      and t.output_bytes >= $min_bytes
      and t.output_key is not null
      and case t.category
        when 'read' then t.file_path is not null
          and t.file_path not ilike '%.log' and t.file_path not ilike '%.out' and t.file_path not ilike '%.output'
        when 'shell' then
          (t.command like 'cat %' or t.command like 'sed -n %' or t.command like 'head %' or t.command like 'nl %')
          and t.command not like '%>%' and t.command not like '%;%' and t.command not like '%&%'
          and (t.command not like '%|%' or t.command like 'nl % | sed -n %')
          and t.command not ilike '%.log%' and t.command not ilike '%.out%'
        else false
      end as is_read,
    case t.category
      when 'read' then false
      when 'shell' then
        -- What several patterns have in common goes first: most commands have none of it.
        (t.command like '%git %' and (
          t.command like '%git apply%' or t.command like '%git am %' or t.command like '%git checkout%'
          or t.command like '%git cherry-pick%' or t.command like '%git clean%' or t.command like '%git merge%'
          or t.command like '%git pull%' or t.command like '%git rebase%' or t.command like '%git reset%'
          or t.command like '%git restore%' or t.command like '%git revert%' or t.command like '%git stash%'
          or t.command like '%git switch%'))
        or (t.command like '%patch%' and (t.command like '%apply%patch%' or t.command like '%patch -%'))
        or (t.command like '%format%' and (t.command like '% format%' or t.command like '%-format%'))
        or (t.command like '%--%' and (
          t.command like '%--in-place%' or t.command like '%--fix%' or t.command like '%--write%'))
        or t.command like '%sed %-i%' or t.command like '%perl -%i%' or t.command like '%fmt%'
        or t.command like '%prettier%' or t.command like '%black %' or t.command like '%isort%'
      else true
    end as is_change
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.category in ('read', 'shell', 'edit', 'write', 'task')
    or (t.category = 'mcp' and (
      t.name like '%edit%' or t.name like '%write%' or t.name like '%replace%' or t.name like '%insert%'))
),
repeated as (
  select session_no, input_key
  from calls
  where is_read
  group by session_no, input_key
  having count(*) > 1
),
reads as (
  select
    c.session_no, c.seq, c.category, c.file_path, c.message_id, c.response_id, c.is_sidechain, c.started_at, c.input_key,
    c.output_key,
    replace(substr(coalesce(c.file_path, c.command), 1, 80), chr(10), ' ') as what
  from calls c
  join repeated r on r.session_no = c.session_no and r.input_key = c.input_key
  where c.is_read
),
-- Files are compared by name, because agents sometimes give the whole path and sometimes a part. A change without a name
-- may concern any file.
events as (
  select
    session_no, seq, 'read' as event,
    case when category = 'read' then regexp_replace(file_path, '^.*[/\\]', '') end as file_name
  from reads
  union all
  select
    session_no, seq,
    case when category <> 'shell' and file_path is not null then 'edit' else 'change' end as event,
    case when category <> 'shell' then regexp_replace(file_path, '^.*[/\\]', '') end as file_name
  from calls
  where is_change and session_no in (select session_no from repeated)
  union all
  select c.session_no, m.seq, 'compaction' as event, null
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind = 'compaction'
  union all
  select p.session_no, p.seq, 'change' as event, null
  from (
    select c.session_no, m.seq, lower(substr(m.text, 1, 1000)) as text
    from messages m
    join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
    where m.kind = 'prompt' and c.session_no in (select session_no from repeated)
  ) as p
  where p.text like '%again%' or p.text like '%reread%' or p.text like '%re-read%' or p.text like '%changed%'
    or p.text like '%updated%' or p.text like '%edited%' or p.text like '%look at%' or p.text like '%read %'
),
versions as (
  select
    e.*,
    -- Three counts in one number, because each is a walk through all rows: compactions, changes and edits so far.
    sum(case event when 'compaction' then 1000000000000 when 'change' then 1000000 when 'edit' then 1 else 0 end) over (
      partition by session_no order by seq rows between unbounded preceding and current row
    ) as changes,
    -- The same between two reads of a file, if no edit of it lies between them.
    sum(case when event = 'edit' then 1 else 0 end) over (
      partition by session_no order by file_name nulls last, seq rows between unbounded preceding and current row
    ) as edits_of_file
  from events e
),
abandoned as (
  select c.session_no, m.message_id
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.is_abandoned
  group by c.session_no, m.message_id
),
kept as (
  select
    r.session_no, r.seq, r.is_sidechain, r.started_at, r.input_key, r.output_key, r.response_id, r.what,
    cast(floor(v.changes / 1e12) as bigint) as context,
    case when v.file_name is null then v.changes else v.changes - v.changes % 1000000 + v.edits_of_file end as version
  from versions v
  join reads r on r.session_no = v.session_no and r.seq = v.seq
  left join abandoned a on a.session_no = r.session_no and a.message_id = r.message_id
  where v.event = 'read' and a.message_id is null
),
-- Numbers the requests between two changes: separate windows over each of them would have only a row or two.
asked as (
  select
    k.*,
    dense_rank() over (partition by session_no order by is_sidechain, version, input_key) as ask
  from kept k
),
compared as (
  select
    a.*,
    lag(ask) over asks as ask_before,
    lag(seq) over asks as seq_before,
    lag(output_key) over asks as output_before,
    lag(started_at) over asks as started_before
  from asked a
  window asks as (partition by session_no order by ask, seq)
),
rereads as (
  select
    session_no, is_sidechain, context, seq, seq_before, response_id, what,
    count(*) over (partition by session_no, is_sidechain, context) as occurrences
  from compared
  where ask_before = ask and output_before = output_key
    and (started_at is null or started_before is null
      or extract(epoch from started_at) - extract(epoch from started_before) <= $max_minutes * 60)
),
named as (
  select * from rereads where occurrences >= $min_rereads
),
counted as (
  select
    n.*,
    count(*) over (partition by session_no, is_sidechain, context, what) as of_file,
    count(*) over (partition by session_no, is_sidechain, context, response_id) as of_response
  from named n
),
ranked as (
  select
    c.*,
    first_value(what) over (
      partition by session_no, is_sidechain, context order by of_file desc nulls last, what, seq
    ) as most_read
  from counted c
),
responses as (
  select c.session_no, t.response_id, count(*) as calls
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  join (select distinct session_no, response_id from named) n
    on n.session_no = c.session_no and n.response_id = t.response_id
  group by c.session_no, t.response_id
),
contexts as (
  select
    r.session_no, r.is_sidechain, r.context, r.most_read, r.occurrences,
    count(distinct r.what) as files,
    max(r.of_file) as most,
    min(r.seq_before) as first_seq,
    max(r.seq) as last_seq,
    bool_and(r.of_response = coalesce(t.calls, 0)) as is_measured,
    sum(cast(floor(u.total_tokens * 1.0 / t.calls) as bigint)) as wasted_tokens,
    sum(floor(round(u.cost_usd * 1e9) / t.calls)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(distinct u.response_id) filter (where u.response_id is not null)) as responses
  from ranked r
  join chosen c on c.session_no = r.session_no
  left join responses t on t.session_no = r.session_no and t.response_id = r.response_id
  left join usage u
    on u.machine = c.machine and u.agent = c.agent and u.session_id = c.session_id and u.response_id = r.response_id
  group by r.session_no, r.is_sidechain, r.context, r.most_read, r.occurrences
)
select
  'reread_files' as detector,
  agent,
  session_id,
  project,
  started_at,
  case when wasted_cost_usd >= 5 or occurrences >= 25 then 'high'
       when wasted_cost_usd >= 0.5 or occurrences >= 10 then 'medium'
       else 'low' end as severity,
  occurrences,
  wasted_tokens,
  wasted_cost_usd,
  first_seq,
  last_seq,
  most_read || ' (' || cast(most as text) || ' of ' || cast(occurrences as text) || ')' as evidence,
  regexp_replace(reverse(regexp_replace(reverse(cast(occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' reads of ' || cast(files as text) || ' file' || case when files = 1 then '' else 's' end
    || ' brought nothing new. The same text had been read no more than ' || cast($max_minutes as text)
    || ' minutes before and was still in the context. Tell the agent not to read again what it has not edited, and to'
    || ' read a file once with all lines that it needs.' as explanation,
  case when is_measured then 'measured' else 'estimated' end as basis,
  machine,
  responses
from contexts x
join chosen c on c.session_no = x.session_no
order by wasted_cost_usd desc nulls last, occurrences desc nulls last, started_at, agent, machine, session_id, first_seq
