-- name: cache_misses
-- title: Context paid for again although it had been cached
-- about: Responses that wrote or paid uncached for what the response before them, of the same thread and model, had in the
-- about: cache. Two causes, each on its own line: `rebuilt` (the cache was still alive) and `idle` (the conversation
-- about: rested longer than the cache lives). Misses of one cause, with none of the other between, are one finding.
-- about: No misses: what follows a compaction, a rewind or a change of model, and a request that became shorter: it is
-- about: another one. Where the agent does not record writes to the cache, only what had been read from it
-- about: counts. Side conversations within a session are left out: they interleave.
-- about: Wasted is what these tokens cost above a read from the cache, estimated from the response's own cost.
-- param: min_tokens int = 10000 -- Cached tokens that a response did not read again. Tokens.
-- param: min_length float = 0.99 -- Length of a request below which it is another one. Share of what was cached before.
-- param: short_life int = 5 -- Life of a cache, counted from its last use. Minutes.
-- param: long_life int = 60 -- Life of a cache that was written as a long one. Minutes.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.responses >= 2
    and s.cache_read_tokens + s.cache_write_tokens >= $min_tokens
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
requests as (
  select
    c.machine, c.agent, c.session_id, c.number, u.response_id, u.turn, u.model,
    u.timestamp, u.source_line,
    coalesce(u.input_tokens, 0) as uncached,
    coalesce(u.cache_read_tokens, 0) as cache_read,
    coalesce(u.cache_write_5m_tokens, 0) as short_write,
    coalesce(u.cache_write_1h_tokens, 0) as long_write,
    coalesce(u.output_tokens, 0) as output_tokens,
    u.cost_usd
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response' and (c.is_subagent or not u.is_sidechain) and u.total_tokens > coalesce(u.output_tokens, 0)
),
followed as (
  select
    r.*,
    lag(r.response_id) over thread as previous_id,
    lag(r.timestamp) over thread as previous_at,
    lag(r.turn) over thread as previous_turn,
    lag(r.model) over thread as previous_model,
    lag(r.cache_read + r.short_write + r.long_write) over thread as had_cached,
    sum(r.long_write) over (
      partition by r.number order by r.timestamp, r.source_line, r.response_id
      rows between unbounded preceding and 1 preceding
    ) as long_before
  from requests r
  window thread as (partition by r.number order by r.timestamp, r.source_line, r.response_id)
),
suspects as (
  select
    f.machine, f.agent, f.session_id, f.number, f.response_id, f.previous_id, f.timestamp, f.previous_at,
    f.turn, f.previous_turn, f.model, f.missed,
    coalesce(floor(extract(epoch from f.timestamp) - extract(epoch from f.previous_at)), 0) as rest,
    case when f.long_before > 0 then $long_life else $short_life end as life,
    f.cost_usd
      * (f.missed
        * ((f.uncached + f.short_write * $short_write_price + f.long_write * $long_write_price)
          / (f.uncached + f.short_write + f.long_write) - $read_price))
      / (f.uncached + f.cache_read * $read_price + f.short_write * $short_write_price
        + f.long_write * $long_write_price + f.output_tokens * $output_price) as wasted
  from (
    select *, least(had_cached, uncached + cache_read + short_write + long_write) - cache_read as missed from followed
  ) as f
  where f.missed >= $min_tokens
    and f.uncached + f.cache_read + f.short_write + f.long_write >= f.had_cached * $min_length
    and f.model is not distinct from f.previous_model
),
misses as (
  select
    s.number, s.response_id,
    max(s.model) as model,
    max(s.missed) as missed,
    max(s.life) as life,
    max(s.wasted) as wasted,
    max(s.rest) as rest,
    max(s.turn) as turn,
    max(s.previous_turn) as previous_turn,
    min(case when m.response_id = s.response_id then m.seq end) as first_seq,
    max(case when m.response_id = s.response_id then m.seq end) as last_seq
  from suspects s
  join messages m
    on m.machine = s.machine and m.agent = s.agent and m.session_id = s.session_id
    and (m.response_id in (s.response_id, s.previous_id)
      or m.kind in ('compaction', 'summary') and m.timestamp >= s.previous_at and m.timestamp <= s.timestamp)
  group by s.number, s.response_id
  having not bool_or(m.kind in ('compaction', 'summary'))
    and min(case when m.response_id = s.response_id then m.seq end) is not null
    and bool_or(m.is_abandoned and m.response_id = s.response_id)
      = bool_or(m.is_abandoned and m.response_id = s.previous_id)
),
told_apart as (
  select *, case when rest > life * 60 then 'idle' else 'rebuilt' end as cause from misses
),
numbered as (
  select
    *,
    row_number() over (partition by number order by first_seq, response_id)
      - row_number() over (partition by number, cause order by first_seq, response_id) as episode
  from told_apart
),
episodes as (
  select
    number, cause, episode,
    count(*) as occurrences,
    sum(missed) as wasted_tokens,
    max(missed) as most,
    sum(case when turn is distinct from previous_turn then 1 else 0 end) as after_prompt,
    max(life) as life,
    cast(ceil(max(rest) / 60) as bigint) as longest_rest,
    sum(round(wasted * 1e9)) / 1e9 as wasted_cost_usd,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq,
    max(model) as model
  from numbered
  group by number, cause, episode
)
select
  'cache_misses' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when e.wasted_cost_usd >= 5 then 'high' when e.wasted_cost_usd >= 0.5 then 'medium' else 'low' end as severity,
  e.occurrences,
  e.wasted_tokens,
  e.wasted_cost_usd,
  e.first_seq,
  e.last_seq,
  e.cause || ': ' || cast(e.occurrences as text) || ' response' || case when e.occurrences = 1 then '' else 's' end
    || ' of ' || coalesce(e.model, 'an unknown model') || ' (' || cast(e.after_prompt as text)
    || ' right after a prompt), at most ' || cast(e.most as text) || ' tokens' as evidence,
  case
    when e.cause = 'idle' then 'The conversation rested ' || case when e.occurrences = 1 then '' else 'up to ' end
      || cast(e.longest_rest as text) || ' minutes, longer than the ' || cast(e.life as text)
      || ' that its cache lives, so ' || cast(e.wasted_tokens as text) || ' cached tokens were paid for again. Before a long break, compact; after it, '
      || 'start anew where the old context does not matter.'
    else cast(e.wasted_tokens as text) || ' tokens were paid for again although they had been used within the '
      || cast(e.life as text) || ' minutes that the cache lives. '
      || case when e.after_prompt = 0 then 'It happened in the middle of the work: most likely the provider lost the cache.'
              else 'Usual causes: a session that was left and resumed, tools, instructions or thinking that changed '
                || 'between prompts.' end
  end as explanation,
  'estimated' as basis,
  c.machine
from episodes e
join chosen c on c.number = e.number
order by e.wasted_cost_usd desc nulls last, e.wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, e.first_seq
