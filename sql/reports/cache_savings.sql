-- name: cache_savings
-- title: What caches saved
-- group: Caches -- what caches saved
-- about: What the responses of each day cost, by agent, and what they would have cost if nothing had been read from or
-- about: written to a cache, oldest day first. Days are those of the session's time zone. Responses without a price, and
-- about: those of agents that do not record cache reads, are left out.
-- note: The savings are estimated from the cost of each response, with Anthropic's multiples. They are too high for models
-- note: of OpenAI and Google, whose output costs 6 to 8 times the input. Without a cache people would have worked in
-- note: another way.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: day -- Day on which the responses began, or their session if a response has no time; null if neither has one.
-- column: agent -- Coding agent.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: cost_usd -- Cost of the responses. USD.
-- column: uncached_usd -- What they would have cost without a cache. USD.
-- column: saved_usd -- uncached_usd - cost_usd; negative if writing cost more than reading saved. USD.
-- show: day, agent, saved_usd, cost_usd, uncached_usd, responses, cache_read_tokens, cache_write_tokens
-- total: sum of saved_usd, cost_usd, uncached_usd, responses, cache_read_tokens, cache_write_tokens
with billed as (
  select
    cast(coalesce(u.timestamp, s.started_at) as date) as day,
    u.agent, u.grain, u.cost_usd, u.cache_read_tokens,
    coalesce(u.cache_write_5m_tokens, 0) + coalesce(u.cache_write_1h_tokens, 0) as cache_write_tokens,
    coalesce(
      u.cost_usd
        * (u.cache_read_tokens * (1 - $read_price)
          - coalesce(u.cache_write_5m_tokens, 0) * ($short_write_price - 1)
          - coalesce(u.cache_write_1h_tokens, 0) * ($long_write_price - 1))
        / nullif(
          coalesce(u.input_tokens, 0) + u.cache_read_tokens * $read_price
            + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
            + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price
            + coalesce(u.output_tokens, 0) * $output_price,
          0
        ),
      0
    ) as saved_usd
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.cost_usd is not null and u.cache_read_tokens is not null
    and ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
),
by_day as (
  select
    day,
    agent,
    nullif(count(*) filter (where grain = 'response'), 0) as responses,
    sum(cache_read_tokens) as cache_read_tokens,
    sum(cache_write_tokens) as cache_write_tokens,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(cost_usd * 1e9)) as cost_nanos,
    sum(round(saved_usd * 1e9)) as saved_nanos
  from billed
  group by day, agent
)
select
  day,
  agent,
  responses,
  cache_read_tokens,
  cache_write_tokens,
  cost_nanos / 1e9 as cost_usd,
  (cost_nanos + saved_nanos) / 1e9 as uncached_usd,
  saved_nanos / 1e9 as saved_usd
from by_day
order by day nulls last, agent
