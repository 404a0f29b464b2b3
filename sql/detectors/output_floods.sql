-- name: output_floods
-- needs: tool_calls >= 1 and responses >= 2 and total_tokens >= $min_carried
-- scope: session
-- title: Large tool results carried along
-- about: Large tool results that stay in the context: each later response pays for them again, until the context is
-- about: compacted or cut (the next request is much shorter). Large results of one such stretch are one finding. Left out
-- about: are files that the session edits later, which it had to read (with a tool, or with a command that names the
-- about: file), and answers of subagents, which were asked for.
-- about: The waste is the cost of carrying the results, less the share that the session is assumed to use (`used_share`).
-- about: It counts the tokens of the results at the price of the first response after them, which reads them uncached, and
-- about: of each later response, which mostly has them cached, and is estimated from the responses' own cost. Nothing
-- about: records how much of a result the model needed, so this is close to the most that a shorter result can save.
-- about: Severity is medium from 0.5 USD on, high from 5.
-- todo: Ask for less: a range of lines, a filter, the tail of a log. Or let a subagent read it.
-- habit: large tool results carried along in the context
-- param: min_bytes int = 25000 -- Smallest size of a large result. Bytes.
-- param: min_carried int = 100000 -- Fewest tokens of large results that all responses together carried. Tokens.
-- param: used_share float = 0.06 -- Part of a large result that is used. Share of its bytes.
-- param: min_length float = 0.9 -- A shorter request means that the context was cut. Share of the request before.
-- param: token_bytes float = 4 -- Length of a token. Bytes.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.tool_calls >= 1
    and s.responses >= 2
    and s.total_tokens >= $min_carried
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
flooded as (
  select distinct c.number, c.machine, c.agent, c.session_id, c.is_subagent
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.output_bytes >= $min_bytes and (c.is_subagent or not t.is_sidechain)
),
large as (
  select
    f.number, t.seq, t.response_id, t.file_path, t.output_bytes,
    case when t.category = 'shell' then substr(t.command, 1, 2000) end as command
  from tool_calls t
  join flooded f on f.machine = t.machine and f.agent = t.agent and f.session_id = t.session_id
  where t.output_bytes >= $min_bytes and t.category <> 'task' and (f.is_subagent or not t.is_sidechain)
),
edits as (
  select
    f.number, t.file_path, max(t.seq) as seq,
    regexp_replace(t.file_path, '^.*[/\\]', '') as file_name
  from tool_calls t
  join flooded f on f.machine = t.machine and f.agent = t.agent and f.session_id = t.session_id
  where t.category in ('edit', 'write') and t.status = 'ok' and t.file_path is not null and (f.is_subagent or not t.is_sidechain)
  group by f.number, t.file_path
),
edited as (
  select distinct l.number, l.seq
  from large l
  join edits e on e.number = l.number and e.seq > l.seq
  where e.file_path = l.file_path or (length(e.file_name) >= 3 and strpos(l.command, e.file_name) > 0)
),
floods as (
  select
    l.number, l.response_id,
    count(*) as results,
    sum(l.output_bytes) as bytes,
    min(l.seq) as first_seq,
    max(l.output_bytes * 10000000 + l.seq) as largest
  from large l
  left join edited e on e.number = l.number and e.seq = l.seq
  where e.number is null
  group by l.number, l.response_id
),
events as (
  select
    f.number, u.timestamp, 0 as is_compaction, u.source_line, u.response_id, u.cost_usd,
    d.results, d.bytes, d.first_seq, d.largest,
    coalesce(u.cache_read_tokens, 0) as cached,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0) + coalesce(u.cache_write_1h_tokens, 0) as fresh,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
      + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price as fresh_units,
    coalesce(u.output_tokens, 0) * $output_price as output_units
  from usage u
  join flooded f on f.machine = u.machine and f.agent = u.agent and f.session_id = u.session_id
  left join floods d on d.number = f.number and d.response_id = u.response_id
  where u.grain = 'response' and (f.is_subagent or not u.is_sidechain)
    and u.total_tokens > coalesce(u.output_tokens, 0)
  union all
  select
    c.number, m.timestamp, 1 as is_compaction, m.source_line, null as response_id, null as cost_usd,
    null as results, null as bytes, null as first_seq, null as largest,
    null as cached, null as fresh, null as fresh_units, null as output_units
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind = 'compaction'
),
arrived as (
  select
    number, timestamp, is_compaction, source_line, response_id, cost_usd, cached, fresh, fresh_units, output_units,
    lag(results) over thread as results,
    lag(bytes) over thread as bytes,
    lag(first_seq) over thread as first_seq,
    lag(largest) over thread as largest,
    case when cached + fresh >= lag(cached + fresh) over thread * $min_length then 0 else 1 end as is_cut
  from events
  window thread as (partition by number order by timestamp, is_compaction, source_line, response_id)
),
stretches as (
  select
    *,
    case when is_cut = 0 and bytes > 0 then cast(floor(least(bytes / $token_bytes, fresh)) as bigint) else 0 end as tokens,
    sum(is_cut) over (
      partition by number order by timestamp, source_line, response_id
      rows between unbounded preceding and current row
    ) as part,
    coalesce(lead(is_cut) over (partition by number order by timestamp, source_line, response_id), 1) as is_last
  from arrived
  where is_compaction = 0
),
carried as (
  select
    *,
    sum(tokens) over (
      partition by number, part order by timestamp, source_line, response_id
      rows between unbounded preceding and current row
    ) as all_tokens,
    coalesce(max(case when tokens > 0 then cached + fresh end) over (
      partition by number, part order by timestamp, source_line, response_id
      rows between unbounded preceding and 1 preceding
    ), 0) as reach
  from stretches
),
loads as (
  select
    *,
    -- The results that just arrived, and of the earlier ones the part that the cache no longer had.
    least(fresh, tokens + least(all_tokens - tokens, greatest(reach - cached, 0))) as anew
  from carried
  where all_tokens > 0
),
billed as (
  select *, anew as fresh_part, least(all_tokens - anew, cached) as cached_part from loads
),
parts as (
  select
    number, part,
    count(*) as responses,
    array_sort(array_agg(response_id)) as response_ids,
    sum(case when tokens > 0 then results end) as occurrences,
    sum(case when tokens > 0 then bytes end) as bytes,
    max(case when tokens > 0 then largest end) as largest,
    min(case when tokens > 0 then first_seq end) as first_seq,
    max(case when is_last = 1 then response_id end) as last_response_id,
    cast(floor(sum(fresh_part + cached_part) * (1 - $used_share)) as bigint) as wasted_tokens,
    sum(round(
      cost_usd * (case when fresh > 0 then fresh_part * (fresh_units / fresh) else 0 end + cached_part * $read_price)
        / (fresh_units + cached * $read_price + output_units) * (1 - $used_share) * 1e9
    )) / 1e9 as wasted_cost_usd
  from billed
  group by number, part
  having sum(fresh_part + cached_part) >= $min_carried
),
found as (
  select
    c.machine, c.agent, c.session_id, c.project, c.started_at, p.part, p.responses, p.response_ids, p.occurrences, p.bytes,
    p.largest, p.wasted_tokens, p.wasted_cost_usd, p.first_seq,
    coalesce(max(m.seq), p.first_seq) as last_seq
  from parts p
  join chosen c on c.number = p.number
  left join messages m
    on m.machine = c.machine and m.agent = c.agent and m.session_id = c.session_id
    and m.response_id = p.last_response_id
  group by
    c.machine, c.agent, c.session_id, c.project, c.started_at, p.part, p.responses, p.response_ids, p.occurrences, p.bytes,
    p.largest, p.wasted_tokens, p.wasted_cost_usd, p.first_seq
)
select
  'output_floods' as detector,
  f.agent,
  f.session_id,
  f.project,
  f.started_at,
  case when f.wasted_cost_usd >= 5 then 'high' when f.wasted_cost_usd >= 0.5 then 'medium' else 'low' end as severity,
  f.occurrences,
  f.wasted_tokens,
  f.wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  t.name || coalesce(' ' || replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' '), '') || ': '
    || cast(cast(floor(t.output_bytes / 1000.0) as bigint) as text) || ' kB'
    || case when f.occurrences = 1 then '' else ', and ' || cast(f.occurrences - 1 as text) || ' more' end as evidence,
  case when f.occurrences = 1 then 'A tool result of ' else cast(f.occurrences as text) || ' tool results of ' end
    || regexp_replace(reverse(regexp_replace(reverse(cast(cast(floor(f.bytes / 1000.0) as bigint) as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' kB stayed in the context of ' || regexp_replace(reverse(regexp_replace(reverse(cast(f.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' response' || case when f.responses = 1 then '' else 's' end || case when f.responses = 1 then '. It' else '. They' end
    || ' paid for up to '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.wasted_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tokens that were not used. Ask for less (a range of lines, a filter, the tail of a log), or let a '
    || 'subagent read it and report what matters.' as explanation,
  'estimated' as basis,
  f.machine,
  f.response_ids as responses
from found f
join tool_calls t
  on t.machine = f.machine and t.agent = f.agent and t.session_id = f.session_id and t.seq = f.largest % 10000000
order by
  f.wasted_cost_usd desc nulls last, f.wasted_tokens desc nulls last, f.started_at, f.agent, f.machine, f.session_id, f.first_seq
