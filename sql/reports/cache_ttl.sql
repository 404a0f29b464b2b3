-- name: cache_ttl
-- title: Five minutes or an hour of cache
-- group: Caches -- five minutes or an hour of cache
-- about: Tokens written to caches that live for 5 minutes or for an hour, by week, agent, version and model, newest first, and
-- about: what the other lifetime would have saved. An hour is worth its higher price only if the thread pauses for 5 to 60
-- about: minutes and then goes on. A thread is the responses of a session by one model; those of side conversations are
-- about: a thread of their own. Responses without a time are left out.
-- note: The savings assume that the work would have gone on in the same way, and they are estimated from the cost of each
-- note: response with a price. Other machines may have used the same cache.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: week -- Monday of the week.
-- column: agent -- Coding agent.
-- column: agent_version -- Version of the agent; null if it recorded none.
-- column: model -- Model as stored.
-- column: responses -- Responses that wrote to a cache. Count.
-- column: short_tokens -- Input written to a cache of 5 minutes. Tokens.
-- column: rewritten_tokens -- Of these, tokens that the previous response had in the cache, written again after a rest of 5 to 60 minutes. Tokens.
-- column: long_tokens -- Input written to a cache of an hour. Tokens.
-- column: unneeded_tokens -- Of these, tokens whose thread never rested for 5 to 60 minutes before the cache went cold. Tokens.
-- column: if_long_saves_usd -- What an hour would have saved on the short writes; negative if it would have cost more. USD.
-- column: if_short_saves_usd -- What 5 minutes would have saved on the long writes; negative if it would have cost more. USD.
-- show: week, agent, model, if_long_saves_usd as saved by an hour, if_short_saves_usd as saved by 5 min, responses,
-- show: short_tokens, rewritten_tokens, long_tokens, unneeded_tokens, agent_version
-- total: sum of responses, short_tokens, rewritten_tokens, long_tokens, unneeded_tokens, if_long_saves_usd, if_short_saves_usd
with numbered as (
  select
    s.machine, s.agent, s.session_id, s.agent_version,
    row_number() over (
      order by s.machine asc nulls last, s.agent asc nulls last, s.session_id asc nulls last
    ) as number
  from sessions s
  where s.cache_write_tokens > 0
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
requests as (
  select
    s.number, u.is_sidechain, u.agent, u.timestamp, u.model, s.agent_version,
    coalesce(u.input_tokens, 0) as uncached,
    coalesce(u.cache_read_tokens, 0) as cache_read,
    coalesce(u.cache_write_5m_tokens, 0) as short_write,
    coalesce(u.cache_write_1h_tokens, 0) as long_write,
    u.cost_usd / nullif(
      coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) * $read_price
        + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
        + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price
        + coalesce(u.output_tokens, 0) * $output_price,
      0
    ) as token_price,
    row_number() over (
      partition by s.number, u.is_sidechain, u.model
      order by u.timestamp asc nulls last, u.source_line asc nulls last, u.response_id asc nulls last
    ) as place
  from usage u
  join numbered s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.grain = 'response' and u.timestamp is not null
    and u.total_tokens > coalesce(u.output_tokens, 0)
),
followed as (
  select
    r.*,
    extract(epoch from r.timestamp) - extract(epoch from lag(r.timestamp) over thread) as rest,
    lag(r.cache_read + r.short_write + r.long_write) over thread as had_cached,
    -- The place of the latest write times 2, and 1 if most of it lives for an hour.
    max(case
      when r.short_write + r.long_write > 0 then r.place * 2 + case when r.long_write > r.short_write then 1 else 0 end
    end) over (
      partition by r.number, r.is_sidechain, r.model order by r.place asc nulls last
      rows between unbounded preceding and 1 preceding
    ) as latest_write
  from requests r
  window thread as (partition by r.number, r.is_sidechain, r.model order by r.place asc nulls last)
),
parts as (
  select
    f.*,
    f.rest > 300 and f.rest <= 3600 as is_rested,
    sum(case when f.rest > 3600 then 1 else 0 end) over (
      partition by f.number, f.is_sidechain, f.model order by f.place asc nulls last
      rows between unbounded preceding and current row
    ) as part
  from followed f
),
placed as (
  select
    p.*,
    max(case when p.is_rested then p.place end) over (
      partition by p.number, p.is_sidechain, p.model, p.part
    ) as last_rested,
    -- A shorter request is a different one.
    case when p.is_rested and p.latest_write % 2 = 0
        and p.uncached + p.cache_read + p.short_write + p.long_write >= p.had_cached * 0.99
      then least(
        greatest(least(p.had_cached, p.uncached + p.cache_read + p.short_write + p.long_write) - p.cache_read, 0),
        p.short_write
      )
      else 0
    end as rewritten
  from parts p
),
weighed as (
  select
    p.*,
    round(p.token_price * (p.rewritten * ($short_write_price - $read_price)
      - (p.short_write - p.rewritten) * ($long_write_price - $short_write_price)) * 1e9) as long_nanos,
    round(p.token_price * (p.long_write * ($long_write_price - $short_write_price)
      - case when p.is_rested and p.latest_write % 2 = 1 then p.cache_read else 0 end
        * ($short_write_price - $read_price)) * 1e9) as short_nanos
  from placed p
)
select
  cast(date_trunc('week', timestamp) as date) as week,
  agent,
  agent_version,
  model,
  count(*) filter (where short_write + long_write > 0) as responses,
  sum(short_write) as short_tokens,
  sum(rewritten) as rewritten_tokens,
  sum(long_write) as long_tokens,
  sum(case when last_rested > place then 0 else long_write end) as unneeded_tokens,
  sum(case when short_write > 0 then long_nanos end) / 1e9 as if_long_saves_usd,
  sum(short_nanos) filter (where long_write > 0 or is_rested and latest_write % 2 = 1) / 1e9 as if_short_saves_usd
from weighed
where ($since is null or timestamp >= $since)
  and ($until is null or timestamp < $until)
group by cast(date_trunc('week', timestamp) as date), agent, agent_version, model
having sum(short_write + long_write) > 0
order by week desc nulls last, agent, short_tokens + long_tokens desc nulls last, agent_version nulls last, model nulls last
