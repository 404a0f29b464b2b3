-- name: billing_blocks
-- title: Five-hour blocks
-- group: Limits -- use in blocks of five hours
-- about: Usage in each block of five hours, newest first. A block begins with the whole hour of its first response. The
-- about: first response after its end begins the next block. Filters choose responses before blocks are made, so they
-- about: can move blocks. Responses without a time are left out.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- param: hours int = 5 from 1 -- Length of a block. Hours.
-- column: agent -- Coding agent.
-- column: block -- When the block began.
-- column: last_used -- When its last response began.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: sessions -- Sessions that used tokens in this time; a subagent's session counts as part of its parent. Count.
-- column: input_tokens -- Input that was neither read from nor written to a cache. Tokens.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: output_tokens -- Output, including reasoning. Tokens.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- show: block, agent, cost_usd, sessions, responses, input_tokens, cache_read_tokens, cache_write_tokens,
-- show: output_tokens, last_used
-- total: sum of responses, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, cost_usd
with recursive used as (
  select
    u.agent,
    -- Whole hours of the time zone, which can differ from those of UTC. Minutes are subtracted, because in some engines
    -- date_trunc to hours gives the other of two equal hours when the clocks go back.
    floor((extract(epoch from date_trunc('minute', u.timestamp)) - extract(minute from u.timestamp) * 60) / 3600.0) as hour,
    u.machine || '/' || s.root_session_id as session,
    u.timestamp,
    u.grain,
    u.input_tokens,
    u.cache_read_tokens,
    coalesce(u.cache_write_5m_tokens + u.cache_write_1h_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens)
      as cache_write_tokens,
    u.output_tokens,
    u.cost_usd
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.timestamp is not null
    and ($since is null or u.timestamp >= $since)
    and ($until is null or u.timestamp < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
),
-- Hours that begin a block in any case: nothing was used in the hours that an earlier block could cover.
active as (
  select
    agent,
    hour,
    coalesce(hour - lag(hour) over (partition by agent order by hour) >= $hours, true) as begins
  from (select distinct agent, hour from used) a
),
-- For every active hour, the first active hour after a block that begins with it, unless that hour begins one anyway.
following as (
  select a.agent, a.hour, a.begins, min(b.hour) as next_hour
  from active a
  left join active b on b.agent = a.agent and b.hour >= a.hour + $hours and b.hour < a.hour + 2 * $hours
  group by a.agent, a.hour, a.begins
),
blocks as (
  select f.agent, f.hour, f.next_hour
  from following f
  where f.begins
  union all
  select f.agent, f.hour, f.next_hour
  from blocks b
  join following f on f.agent = b.agent and f.hour = b.next_hour and not f.begins
),
held as (
  select a.agent, a.hour, max(b.hour) over (partition by a.agent order by a.hour) as block
  from active a
  left join blocks b on b.agent = a.agent and b.hour = a.hour
)
select
  u.agent,
  date_trunc('minute', min(u.timestamp))
    - cast(cast(extract(minute from min(u.timestamp)) as text) || ' minutes' as interval) as block,
  max(u.timestamp) as last_used,
  nullif(count(*) filter (where u.grain = 'response'), 0) as responses,
  count(distinct u.session) as sessions,
  sum(u.input_tokens) as input_tokens,
  sum(u.cache_read_tokens) as cache_read_tokens,
  sum(u.cache_write_tokens) as cache_write_tokens,
  sum(u.output_tokens) as output_tokens,
  sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd
from held h
join used u on u.agent = h.agent and u.hour = h.hour
group by u.agent, h.block
order by block desc nulls last, u.agent
