-- name: output_floods
-- title: Large tool results that the rest of the session carried along
-- about: A tool result stays in the context: each later response pays for it again, until the context is compacted or cut
-- about: (a request shorter than the first that carried the result carries it no more). Large results between two
-- about: compactions are one finding. A file that the session edits later had to be read, and is no flood.
-- about: Wasted is what carrying the results cost: their tokens at the price of the first response behind them, which
-- about: reads them anew, and of each later one, which mostly has them cached; estimated from the responses' own cost.
-- param: min_bytes int = 25000 -- Size of a large result. Bytes.
-- param: min_carried int = 100000 -- Tokens of large results that the responses carried, all together. Tokens.
-- param: token_bytes float = 4 -- Length of a token. Bytes.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent
  from sessions s
  where s.tool_calls >= 1
    and s.responses >= 2
    and s.total_tokens >= $min_carried
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
flooded as (
  select distinct c.machine, c.agent, c.session_id, c.is_subagent
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.output_bytes >= $min_bytes and (c.is_subagent or not t.is_sidechain)
),
results as (
  select
    t.machine, t.agent, t.session_id, t.seq, t.file_path, t.output_bytes,
    t.name || coalesce(' ' || replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' '), '') as call
  from tool_calls t
  join flooded f on f.machine = t.machine and f.agent = t.agent and f.session_id = t.session_id
  where t.output_bytes >= $min_bytes and (f.is_subagent or not t.is_sidechain)
),
edits as (
  select t.machine, t.agent, t.session_id, t.file_path, max(t.seq) as seq
  from tool_calls t
  join flooded f on f.machine = t.machine and f.agent = t.agent and f.session_id = t.session_id
  where t.category in ('edit', 'write') and t.status = 'ok' and t.file_path is not null
  group by t.machine, t.agent, t.session_id, t.file_path
),
floods as (
  select r.*
  from results r
  left join edits e
    on e.machine = r.machine and e.agent = r.agent and e.session_id = r.session_id and e.file_path = r.file_path
    and e.seq > r.seq
  where e.seq is null
),
lines as (
  select
    m.machine, m.agent, m.session_id, m.seq, m.response_id,
    sum(case when m.kind in ('compaction', 'summary') then 1 else 0 end) over (
      partition by m.machine, m.agent, m.session_id order by m.seq
    ) as part
  from messages m
  join flooded f on f.machine = m.machine and f.agent = m.agent and f.session_id = m.session_id
),
places as (
  select machine, agent, session_id, response_id, min(seq) as seq, min(part) as part
  from lines
  where response_id is not null
  group by machine, agent, session_id, response_id
),
requests as (
  select
    u.machine, u.agent, u.session_id, p.seq, p.part, u.cost_usd,
    coalesce(u.cache_read_tokens, 0) as cached,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0) + coalesce(u.cache_write_1h_tokens, 0) as fresh,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
      + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price as fresh_units,
    coalesce(u.output_tokens, 0) * $output_price as output_units
  from usage u
  join flooded f on f.machine = u.machine and f.agent = u.agent and f.session_id = u.session_id
  join places p
    on p.machine = u.machine and p.agent = u.agent and p.session_id = u.session_id and p.response_id = u.response_id
  where u.grain = 'response' and (f.is_subagent or not u.is_sidechain)
    and u.total_tokens > coalesce(u.output_tokens, 0)
),
carried as (
  select
    f.machine, f.agent, f.session_id, f.seq as flood_seq, f.output_bytes, f.call,
    r.seq, r.part, r.cost_usd, r.cached, r.fresh, r.fresh_units, r.output_units,
    row_number() over flood as place,
    first_value(r.part) over flood as first_part,
    first_value(r.cached + r.fresh) over flood as first_length,
    min(r.cached + r.fresh) over flood as least_length,
    cast(floor(least(f.output_bytes / $token_bytes, first_value(r.fresh) over flood)) as bigint) as tokens
  from floods f
  join requests r on r.machine = f.machine and r.agent = f.agent and r.session_id = f.session_id and r.seq > f.seq
  window flood as (
    partition by f.machine, f.agent, f.session_id, f.seq order by r.seq rows between unbounded preceding and current row
  )
),
loads as (
  select
    machine, agent, session_id, part, seq,
    max(cost_usd) as cost_usd,
    max(cached) as cached,
    max(fresh) as fresh,
    max(fresh_units) as fresh_units,
    max(output_units) as output_units,
    sum(tokens) as tokens,
    sum(case when place = 1 then tokens else least(tokens, greatest(first_length - cached, 0)) end) as anew,
    sum(case when place = 1 then 1 else 0 end) as results,
    sum(case when place = 1 then output_bytes end) as bytes,
    min(case when place = 1 then flood_seq end) as first_seq,
    max(case when place = 1 then lpad(cast(output_bytes as text), 15, '0') || call end) as largest
  from carried
  where part = first_part and least_length >= first_length
  group by machine, agent, session_id, part, seq
),
billed as (
  select
    l.*,
    least(l.anew, l.fresh) as fresh_part,
    least(l.tokens - least(l.anew, l.fresh), l.cached) as cached_part
  from loads l
),
parts as (
  select
    machine, agent, session_id, part,
    count(*) as responses,
    sum(results) as occurrences,
    sum(bytes) as bytes,
    substr(max(largest), 16) as call,
    cast(substr(max(largest), 1, 15) as bigint) as most,
    min(first_seq) as first_seq,
    max(seq) as last_seq,
    sum(fresh_part + cached_part) as wasted_tokens,
    sum(round(
      cost_usd * (case when fresh > 0 then fresh_part * (fresh_units / fresh) else 0 end + cached_part * $read_price)
        / (fresh_units + cached * $read_price + output_units) * 1e9
    )) / 1e9 as wasted_cost_usd
  from billed
  group by machine, agent, session_id, part
)
select
  'output_floods' as detector,
  p.agent,
  p.session_id,
  c.project,
  c.started_at,
  case when p.wasted_cost_usd >= 5 then 'high' when p.wasted_cost_usd >= 0.5 then 'medium' else 'low' end as severity,
  p.occurrences,
  p.wasted_tokens,
  p.wasted_cost_usd,
  p.first_seq,
  p.last_seq,
  p.call || ': ' || cast(cast(floor(p.most / 1000.0) as bigint) as text) || ' kB'
    || case when p.occurrences = 1 then '' else ', and ' || cast(p.occurrences - 1 as text) || ' more' end as evidence,
  case when p.occurrences = 1 then 'A tool result of ' else cast(p.occurrences as text) || ' tool results of ' end
    || cast(cast(floor(p.bytes / 1000.0) as bigint) as text) || ' kB stayed in the context of '
    || cast(p.responses as text) || ' response' || case when p.responses = 1 then '' else 's' end
    || '. Ask for less (a range of lines, a filter, the tail of a log), or let a subagent read it and tell what matters.'
    as explanation,
  'estimated' as basis,
  p.machine
from parts p
join chosen c on c.machine = p.machine and c.agent = p.agent and c.session_id = p.session_id
where p.wasted_tokens >= $min_carried
order by p.wasted_cost_usd desc nulls last, p.wasted_tokens desc, c.started_at, p.agent, p.machine, p.session_id, p.first_seq
