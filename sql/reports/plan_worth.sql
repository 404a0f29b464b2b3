-- name: plan_worth
-- title: Use by list price and the price of a plan
-- group: Limits -- also limits
-- about: What the usage of each month would cost at list prices, by agent, next to the price of a subscription, newest month
-- about: first.
-- note: The list price is not what you would have paid without the plan: you would have used less, or a cheaper model. The
-- note: current month is not over.
-- param: price float = null -- Price of the plan for a month. USD.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: month -- First day of the month.
-- column: agent -- Coding agent.
-- column: plan -- Subscription, as stored; null if none or several are recorded.
-- column: list_price_usd -- Cost of the tokens by the prices of the day, whatever the agent recorded; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which list_price_usd leaves out. Count.
-- column: partial_responses -- Responses whose counts are not exact. Count.
-- column: plan_usd -- The parameter `price`. USD.
-- column: times_plan -- list_price_usd / plan_usd.
-- column: days_used -- Days with a response. Count.
-- column: days_at_limit -- Days on which a request was refused because a limit was used up, or its recorded share was 100. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- show: month, agent, list_price_usd as list price, plan_usd as plan price, times_plan, plan, days_used,
-- show: days_at_limit, total_tokens
-- total: sum of list_price_usd, total_tokens
with used as (
  select
    u.agent, u.plan, u.list_cost_usd, u.is_partial, u.total_tokens,
    date_trunc('day', coalesce(u.timestamp, s.started_at)) as day,
    1 as is_usage,
    greatest(u.limit_short_percent, u.limit_long_percent) >= 100 as is_at_limit
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  union all
  select
    m.agent, cast(null as text), cast(null as double), false, cast(null as bigint), date_trunc('day', m.timestamp), 0,
    m.error_type = 'usage_limit'
  from messages m
  join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
  where m.error_type = 'usage_limit'
    and ($since is null or m.timestamp >= $since)
    and ($until is null or m.timestamp < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or m.agent = $agent)
),
by_month as (
  select
    cast(date_trunc('month', day) as date) as month,
    agent,
    case when min(plan) = max(plan) then min(plan) end as plan,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(list_cost_usd * 1e9)) / 1e9 as list_price_usd,
    count(*) filter (where list_cost_usd is null and is_usage = 1) as unpriced_responses,
    count(*) filter (where is_partial) as partial_responses,
    cast($price as double) as plan_usd,
    count(distinct case when is_usage = 1 then day end) as days_used,
    count(distinct case when is_at_limit then day end) as days_at_limit,
    sum(total_tokens) as total_tokens
  from used
  group by cast(date_trunc('month', day) as date), agent
)
select
  month,
  agent,
  plan,
  list_price_usd,
  unpriced_responses,
  partial_responses,
  plan_usd,
  round(list_price_usd / nullif(plan_usd, 0), 6) as times_plan,
  days_used,
  days_at_limit,
  total_tokens
from by_month
order by month desc nulls last, list_price_usd desc nulls last, agent
