-- name: reread_files
-- title: Files read again that had not changed
-- about: Reads of a file (by a tool, or by cat, head, nl and sed -n in a shell) that asked for the same part and got the same
-- about: text as the read before them, while that text was still in the context: no compaction, no attempt to edit the file, and
-- about: no command that changes many files (checkout, pull, patch, a formatter) lies in between. Not counted are reads long
-- about: after the one before (the person may have changed the file), small results (pictures leave only a mark), logs that
-- about: are watched, and branches that the conversation left. Wasted are the responses that asked again, each by the share
-- about: of its calls that did; measured where all did. One finding for each context of a session, from compaction to compaction.
-- param: min_rereads int = 2 -- Needless reads in one context that make a finding. Count.
-- param: max_minutes int = 30 -- A read longer after the one before is a check, not a repetition. Minutes.
-- param: min_bytes int = 200 -- Results smaller than this do not count. Bytes.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at
  from sessions s
  where s.tool_calls > $min_rereads
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
suspects as (
  select machine, agent, session_id, project, started_at
  from (
    select t.machine, t.agent, t.session_id, c.project, c.started_at, count(*) as reads
    from tool_calls t
    join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
    where t.status = 'ok'
      and t.output_bytes >= $min_bytes
      and (t.category = 'read' or (t.category = 'shell' and (
        t.command like 'cat %' or t.command like 'sed -n %' or t.command like 'head %' or t.command like 'nl %')))
    group by t.machine, t.agent, t.session_id, c.project, c.started_at, t.is_sidechain, t.input_key, t.output_key
    having count(*) > 1
  ) repeated
  group by machine, agent, session_id, project, started_at
  having sum(reads - 1) >= $min_rereads
),
calls as (
  select
    t.machine, t.agent, t.session_id, p.project, p.started_at as session_started_at, t.seq, t.message_id, t.response_id,
    t.is_sidechain, t.started_at, t.input_key, t.output_key,
    case when t.category <> 'shell' then regexp_replace(t.file_path, '^.*[/\\]', '') end as file_name,
    replace(substr(coalesce(t.file_path, t.command), 1, 80), chr(10), ' ') as what,
    case
      when t.category in ('edit', 'write') then 'edit'
      when t.category = 'shell' and t.command <> regexp_replace(
        t.command,
        'git (apply|am|checkout|cherry-pick|clean|merge|pull|rebase|reset|restore|revert|stash|switch)|apply_?patch|patch -|sed (-[a-zA-Z]+ )*-[a-zA-Z]*i|sed --in-place|perl -[a-z0-9]*i|fmt|format|prettier|black|isort|--fix|--write',
        '') then 'change'
      when t.status <> 'ok' or t.output_bytes < $min_bytes or t.input_key is null or t.output_key is null then null
      when t.category = 'read' and t.file_path is not null
        and t.file_path not ilike '%.log' and t.file_path not ilike '%.out' and t.file_path not ilike '%.output' then 'read'
      when t.category = 'shell'
        and (t.command like 'cat %' or t.command like 'sed -n %' or t.command like 'head %' or t.command like 'nl %')
        and t.command not like '%>%' and t.command not like '%;%' and t.command not like '%&%'
        and (t.command not like '%|%' or t.command like 'nl % | sed -n %')
        and t.command not ilike '%.log%' and t.command not ilike '%.out%' then 'read'
    end as event,
    count(*) over (partition by t.machine, t.agent, t.session_id, t.response_id) as calls_of_response
  from tool_calls t
  join suspects p on p.machine = t.machine and p.agent = t.agent and p.session_id = t.session_id
),
-- A read or edit has a file name, but for shells; an edit or change without one may have changed any file.
events as (
  select
    machine, agent, session_id, project, session_started_at, seq, message_id, response_id, is_sidechain, started_at,
    input_key, output_key, file_name, what, event, calls_of_response
  from calls
  where event is not null
  union all
  select
    m.machine, m.agent, m.session_id, c.project, c.started_at as session_started_at, m.seq, m.message_id, null, m.is_sidechain, null,
    null, null, null, null, 'compaction', null
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind = 'compaction'
),
versions as (
  select
    e.*,
    sum(case when event = 'compaction' then 1 else 0 end) over (
      partition by machine, agent, session_id order by seq rows between unbounded preceding and current row
    ) as context,
    sum(case when event = 'change' or (event = 'edit' and file_name is null) then 1 else 0 end) over (
      partition by machine, agent, session_id order by seq rows between unbounded preceding and current row
    ) as changes,
    sum(case when event = 'edit' then 1 else 0 end) over (
      partition by machine, agent, session_id order by seq rows between unbounded preceding and current row
    ) as edits,
    sum(case when event = 'edit' then 1 else 0 end) over (
      partition by machine, agent, session_id, file_name order by seq rows between unbounded preceding and current row
    ) as edits_of_file
  from events e
),
kept as (
  select v.*, case when v.file_name is null then v.edits else v.edits_of_file end as version
  from versions v
  left join messages m
    on m.machine = v.machine and m.agent = v.agent and m.session_id = v.session_id and m.message_id = v.message_id
    and m.is_abandoned
  where v.event = 'read' and m.message_id is null
),
compared as (
  select
    k.*,
    lag(seq) over (
      partition by machine, agent, session_id, is_sidechain, context, changes, version, input_key order by seq
    ) as seq_before,
    lag(output_key) over (
      partition by machine, agent, session_id, is_sidechain, context, changes, version, input_key order by seq
    ) as output_before,
    lag(started_at) over (
      partition by machine, agent, session_id, is_sidechain, context, changes, version, input_key order by seq
    ) as started_before
  from kept k
),
rereads as (
  select
    c.*,
    count(*) over (partition by machine, agent, session_id, is_sidechain, context, what) as of_file,
    count(*) over (partition by machine, agent, session_id, is_sidechain, context, response_id) as of_response
  from compared c
  where output_before = output_key
    and (started_at is null or started_before is null
      or extract(epoch from (started_at - started_before)) <= $max_minutes * 60)
),
ranked as (
  select
    r.*,
    first_value(what) over (
      partition by machine, agent, session_id, is_sidechain, context order by of_file desc, what, seq
    ) as most_read
  from rereads r
),
costs as (
  select u.machine, u.agent, u.session_id, u.response_id, sum(u.total_tokens) as tokens, sum(u.cost_usd) as cost
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  group by u.machine, u.agent, u.session_id, u.response_id
),
contexts as (
  select
    r.machine, r.agent, r.session_id, r.project, r.session_started_at as started_at, r.is_sidechain, r.context, r.most_read,
    count(*) as occurrences,
    count(distinct r.what) as files,
    max(r.of_file) as most,
    min(r.seq_before) as first_seq,
    max(r.seq) as last_seq,
    bool_and(r.of_response = r.calls_of_response) as is_measured,
    sum(cast(floor(k.tokens * 1.0 / r.calls_of_response) as bigint)) as wasted_tokens,
    sum(floor(round(k.cost * 1e9) / r.calls_of_response)) / 1e9 as wasted_cost_usd
  from ranked r
  left join costs k
    on k.machine = r.machine and k.agent = r.agent and k.session_id = r.session_id and k.response_id = r.response_id
  group by
    r.machine, r.agent, r.session_id, r.project, r.session_started_at, r.is_sidechain, r.context, r.most_read
  having count(*) >= $min_rereads
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
  cast(occurrences as text) || ' reads of ' || cast(files as text) || ' file' || case when files = 1 then '' else 's' end
    || ' brought nothing new: the same text had been read no more than ' || cast($max_minutes as text)
    || ' minutes before and was still in the context.' as explanation,
  case when is_measured then 'measured' else 'estimated' end as basis,
  machine
from contexts
order by wasted_cost_usd desc nulls last, occurrences desc, started_at, agent, machine, session_id, first_seq
