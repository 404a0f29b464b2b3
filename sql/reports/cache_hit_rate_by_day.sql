-- name: cache_hit_rate_by_day
-- title: Cache hit rate by day
-- group: Caches -- also cache_hit_rate
-- about: The share of each day's input that came from the cache, oldest first. Days are those of the session's time zone.
-- about: Responses of agents that do not record cache reads are left out.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: day -- Day on which the responses began, or their session if a response has no time; null if neither has one.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: all_input_tokens -- Input of all kinds: uncached, read from and written to a cache. Tokens.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: hit_rate -- cache_read_tokens / all_input_tokens; null without input. 0 to 1.
-- show: day, hit_rate, cache_read_tokens, cache_write_tokens, all_input_tokens, responses
-- total: sum of responses, all_input_tokens, cache_read_tokens, cache_write_tokens
with counted as (
  select
    cast(coalesce(u.timestamp, s.started_at) as date) as day,
    u.grain,
    coalesce(u.input_tokens, 0) as input_tokens,
    u.cache_read_tokens,
    coalesce(u.cache_write_5m_tokens, 0) + coalesce(u.cache_write_1h_tokens, 0) as cache_write_tokens
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.cache_read_tokens is not null
    and ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
),
summed as (
  select
    day,
    nullif(count(*) filter (where grain = 'response'), 0) as responses,
    sum(input_tokens + cache_read_tokens + cache_write_tokens) as all_input_tokens,
    sum(cache_read_tokens) as cache_read_tokens,
    sum(cache_write_tokens) as cache_write_tokens
  from counted
  group by day
)
select
  day,
  responses,
  all_input_tokens,
  cache_read_tokens,
  cache_write_tokens,
  round(cache_read_tokens * 1.0 / nullif(all_input_tokens, 0), 4) as hit_rate
from summed
order by day nulls last
