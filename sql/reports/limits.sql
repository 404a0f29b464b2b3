-- name: limits
-- title: Limits of the account
-- group: Limits -- how much of each limit was used
-- about: How much of each limit was used, by window, newest first.
-- note: Only Codex records the share. The limits are the account's, which may be used elsewhere too: a large step between two
-- note: responses shows such use. If much of the rise came in large steps, `usd_per_percent` is null.
-- param: min_percent float = 5 -- Rise of the share below which usd_per_percent is null.
-- param: max_step float = 2 -- Highest rise of the share from one response to the next that counts as use here.
-- param: max_elsewhere float = 0.1 -- Share of the rise in larger steps above which usd_per_percent is null. 0 to 1.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: agent text = null -- Only this agent.
-- column: machine -- Machine.
-- column: agent -- Coding agent.
-- column: plan -- Subscription, as stored.
-- column: limit_length -- short (less than a day) or long.
-- column: resets_at -- When the window ends; null if the agent recorded no end.
-- column: first_percent -- Share at the first count. 0 to 100.
-- column: highest_percent -- Highest share. 0 to 100.
-- column: first_seen -- When the first response with this limit began.
-- column: last_seen -- When the last response with this limit began.
-- column: responses -- API responses on this machine between the first and the last count. Count.
-- column: cost_usd -- Their cost by list price; null if none has a price. USD.
-- column: elsewhere_share -- Part of the rise that came in larger steps than `max_step`; null if the share did not rise. 0 to 1.
-- column: usd_per_percent -- cost_usd for each per cent that the share rose. USD.
-- show: limit_length as limit, highest_percent as highest, plan, resets_at, first_percent as first, first_seen,
-- show: last_seen, responses, cost_usd, usd_per_percent as per percent, elsewhere_share as elsewhere, agent, machine
with responses as (
  select
    u.machine, u.agent, u.plan, 'short' as limit_length, u.limit_short_percent as percent, u.limit_short_resets_at as resets_at,
    u.timestamp, u.response_id, u.list_cost_usd
  from usage u
  where u.timestamp is not null
    and ($since is null or u.timestamp >= $since)
    and ($until is null or u.timestamp < $until)
    and ($agent is null or u.agent = $agent)
  union all
  select
    u.machine, u.agent, u.plan, 'long', u.limit_long_percent, u.limit_long_resets_at,
    u.timestamp, u.response_id, u.list_cost_usd
  from usage u
  where u.timestamp is not null
    and ($since is null or u.timestamp >= $since)
    and ($until is null or u.timestamp < $until)
    and ($agent is null or u.agent = $agent)
),
limited as (
  select distinct machine, agent, limit_length from responses where percent is not null
),
placed as (
  select
    r.*,
    row_number() over (
      partition by r.machine, r.agent, r.limit_length order by r.timestamp asc nulls last, r.response_id asc nulls last
    ) as place,
    count(r.percent) over (
      partition by r.machine, r.agent, r.limit_length order by r.timestamp asc nulls last, r.response_id asc nulls last
      rows between unbounded preceding and current row
    ) as number
  from responses r
  join limited l on l.machine = r.machine and l.agent = r.agent and l.limit_length = r.limit_length
),
-- The end of a window moves by seconds.
followed as (
  select
    p.machine, p.agent, p.plan, p.limit_length, p.percent, p.resets_at, p.timestamp, p.place, p.number,
    case
      when extract(epoch from p.resets_at) - extract(epoch from lag(p.resets_at) over (
        partition by p.machine, p.agent, p.plan, p.limit_length order by p.resets_at asc nulls last, p.place asc nulls last
      )) > 300 then 1
      else 0
    end as is_later,
    case
      when p.resets_at is not null then 0
      when p.percent < lag(p.percent) over (
        partition by p.machine, p.agent, p.plan, p.limit_length order by p.place asc nulls last
      ) then 1
      else 0
    end as is_drop
  from placed p
  where p.percent is not null
),
numbered as (
  select
    f.*,
    case when f.resets_at is not null then sum(f.is_later) over (
      partition by f.machine, f.agent, f.plan, f.limit_length order by f.resets_at asc nulls last, f.place asc nulls last
      rows between unbounded preceding and current row
    ) end as ending,
    case when f.resets_at is null then sum(f.is_drop) over (
      partition by f.machine, f.agent, f.plan, f.limit_length order by f.place asc nulls last
      rows between unbounded preceding and current row
    ) end as drops
  from followed f
),
stepped as (
  select
    n.*,
    n.percent - lag(n.percent) over (
      partition by n.machine, n.agent, n.plan, n.limit_length, n.ending, n.drops order by n.place asc nulls last
    ) as step,
    min(n.place) over (partition by n.machine, n.agent, n.plan, n.limit_length, n.ending, n.drops) as first_place,
    max(n.place) over (partition by n.machine, n.agent, n.plan, n.limit_length, n.ending, n.drops) as last_place
  from numbered n
),
windows as (
  select
    s.machine, s.agent, s.plan, s.limit_length, s.ending, s.drops,
    max(case when s.place = s.first_place then s.percent end) as first_percent,
    max(s.percent) as highest_percent,
    min(s.timestamp) as first_seen,
    max(s.timestamp) as last_seen,
    max(s.resets_at) as resets_at,
    count(*) as responses,
    sum(case when r.place = s.place and s.step > $max_step then round(s.step * 100) else 0 end)
      / nullif(sum(case when r.place = s.place and s.step > 0 then round(s.step * 100) else 0 end), 0)
      as elsewhere_share,
    sum(round(r.list_cost_usd * 1e9)) / 1e9 as cost_usd
  from stepped s
  -- A response without a count belongs to the window of the last count before it.
  join placed r
    on r.machine = s.machine and r.agent = s.agent and r.limit_length = s.limit_length and r.number = s.number
  where r.place <= s.last_place
  group by s.machine, s.agent, s.plan, s.limit_length, s.ending, s.drops
)
select
  machine,
  agent,
  plan,
  limit_length,
  resets_at,
  first_percent,
  highest_percent,
  first_seen,
  last_seen,
  responses,
  cost_usd,
  round(elsewhere_share, 6) as elsewhere_share,
  case when highest_percent - first_percent >= $min_percent and elsewhere_share <= $max_elsewhere
    then round(cost_usd / (highest_percent - first_percent), 4) end as usd_per_percent
from windows
order by last_seen desc nulls last, machine, agent, plan nulls last, limit_length desc nulls last
