-- name: cache_misses
-- needs: responses >= 2 and cache_read_tokens + cache_write_tokens >= $min_tokens
-- scope: session
-- title: Cached context that was paid for again
-- about: Responses that wrote again, or paid for uncached, what the previous response of the same thread and model had in
-- about: the cache. There are two causes, with separate findings: `rebuilt` (the cache was still alive) and `idle` (the
-- about: conversation paused longer than the cache lives). Misses of one cause are one finding until one of the other
-- about: cause follows.
-- about: The latest write to a cache decides how long it lives: 5 minutes or an hour after its last use. OpenAI records no
-- about: writes. It documents that a cache is typically cleared after 5 to 10 minutes without use, always within an hour,
-- about: and that no hit is guaranteed.
-- about: Left out are responses after a compaction, a rewind or a change of model, requests that became shorter (they are
-- about: different requests), and side conversations within a session (they interleave). If the agent does not record
-- about: writes to the cache, only tokens that had been read from it count.
-- about: The evidence names the reason if the provider gave one.
-- about: The waste is the cost of these tokens above the price of a cache read, estimated from the response's own cost.
-- about: Severity is medium from 0.5 USD on, high from 5.
-- todo: Resume a session within the cache's life, or start a new one. Do not change tools, instructions or thinking in
-- todo: between.
-- habit: context that was paid for twice
-- param: min_tokens int = 10000 -- Cached tokens that a response did not read again. Tokens.
-- param: min_length float = 0.99 -- A shorter request is a different one. Share of what was cached before.
-- param: short_life int = 5 -- Life of a short cache, counted from its last use. Minutes.
-- param: long_life int = 60 -- Life of a long cache, counted from its last use. Minutes.
-- param: openai_life int = 10 -- Time without use after which OpenAI has mostly cleared a cache. Minutes.
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
  where s.responses >= 2
    and s.cache_read_tokens + s.cache_write_tokens >= $min_tokens
    and ($since is null or s.ended_at >= $since)
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
    u.cost_usd,
    nullif(u.cache_miss_reason, 'unavailable') as reason,
    coalesce(u.provider = 'openai' or lower(u.model) like '%gpt-%', false) as is_openai,
    row_number() over (partition by c.number order by u.timestamp, u.source_line, u.response_id) as place
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
    -- The place of the latest write times 2, and 1 if most of it lives long.
    max(case
      when r.short_write + r.long_write > 0 then r.place * 2 + case when r.long_write > r.short_write then 1 else 0 end
    end) over (
      partition by r.number order by r.timestamp, r.source_line, r.response_id
      rows between unbounded preceding and 1 preceding
    ) as latest_write
  from requests r
  window thread as (partition by r.number order by r.timestamp, r.source_line, r.response_id)
),
suspects as (
  select
    f.machine, f.agent, f.session_id, f.number, f.response_id, f.previous_id, f.timestamp, f.previous_at,
    f.turn, f.previous_turn, f.model, f.missed, f.reason,
    coalesce(floor(extract(epoch from f.timestamp) - extract(epoch from f.previous_at)), 0) as rest,
    f.is_openai,
    case
      when f.is_openai then $openai_life
      when f.latest_write % 2 = 1 then $long_life
      else $short_life
    end as life,
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
sides as (
  select number, machine, agent, session_id, response_id, response_id as side from suspects
  union all
  select number, machine, agent, session_id, response_id, previous_id as side from suspects
),
messages_of as (
  select
    s.number, s.response_id,
    min(case when s.side = s.response_id then m.seq end) as first_seq,
    max(case when s.side = s.response_id then m.seq end) as last_seq,
    bool_or(m.is_abandoned and s.side = s.response_id) as is_abandoned,
    bool_or(m.is_abandoned and s.side <> s.response_id) as was_abandoned,
    bool_or(m.kind in ('compaction', 'summary')) as is_compaction
  from sides s
  join messages m
    on m.machine = s.machine and m.agent = s.agent and m.session_id = s.session_id and m.response_id = s.side
  group by s.number, s.response_id
),
compacted as (
  select distinct s.number, s.response_id
  from suspects s
  join messages m
    on m.machine = s.machine and m.agent = s.agent and m.session_id = s.session_id
    and m.timestamp >= s.previous_at and m.timestamp <= s.timestamp
  where m.kind in ('compaction', 'summary')
),
misses as (
  select s.*, m.first_seq, m.last_seq
  from suspects s
  join messages_of m on m.number = s.number and m.response_id = s.response_id
  left join compacted p on p.number = s.number and p.response_id = s.response_id
  where p.number is null
    and not m.is_compaction
    and m.first_seq is not null
    and m.is_abandoned = m.was_abandoned
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
    min(reason) || case when max(reason) > min(reason) then ', ' || max(reason) else '' end as reason,
    sum(case when turn is distinct from previous_turn then 1 else 0 end) as after_prompt,
    max(life) as life,
    bool_or(is_openai) as is_openai,
    cast(ceil(max(rest) / 60) as bigint) as longest_rest,
    sum(round(wasted * 1e9)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(response_id)) as responses,
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
  e.cause || ': ' || coalesce(e.model, 'an unknown model') || ', ' || cast(e.after_prompt as text)
    || ' right after a prompt, at most '
    || regexp_replace(reverse(regexp_replace(reverse(cast(e.most as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tokens' || coalesce('; the provider says: ' || e.reason, '') as evidence,
  regexp_replace(reverse(regexp_replace(reverse(cast(e.occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when e.occurrences = 1 then ' response' else ' responses' end || ' paid again for '
    || regexp_replace(reverse(regexp_replace(reverse(cast(e.wasted_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tokens '
    || case
      when e.cause = 'idle' then 'after ' || case when e.occurrences = 1 then '' else 'up to ' end
        || case
          when e.longest_rest >= 120 then cast(cast(round(e.longest_rest / 60.0) as bigint) as text) || ' hours'
          else cast(e.longest_rest as text) || ' minutes'
        end || ' of rest. '
        || case when e.is_openai then 'OpenAI clears a cache after 5 to 10 minutes without use, at the latest after an hour'
           else 'The cache lives for ' || cast(e.life as text) || ' minutes' end
        || '. Compact before a long break; after one, begin a new session if the old context does not matter.'
      when e.is_openai then 'cached within ' || cast(e.life as text) || ' minutes. OpenAI keeps a cache for 5 to 10 '
        || 'minutes without use and guarantees no hit. Keep tools and instructions the same within a session; the rest is not '
        || 'in your hands.'
      else 'cached within ' || cast(e.life as text) || ' minutes. '
        || case when e.reason like '%_changed' then 'The provider says what changed: ' || e.reason || '. Keep it the same within a session.'
                when e.reason is not null then 'The provider says: ' || e.reason || '.'
                when e.after_prompt = 0 then 'It happened in the middle of the work, so most likely the provider lost the cache: '
                  || 'nothing to do, unless it happens often.'
                else 'Usual causes: a session that was left and resumed, or tools, instructions or thinking that changed. Keep '
                  || 'them the same within a session.' end
    end as explanation,
  'estimated' as basis,
  c.machine,
  e.responses
from episodes e
join chosen c on c.number = e.number
order by e.wasted_cost_usd desc nulls last, e.wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, e.first_seq
