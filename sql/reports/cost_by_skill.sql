-- name: cost_by_skill
-- title: Cost by skill
-- group: Cost -- also cost_by_agent
-- about: What the responses cost that Claude Code stamps with a skill, most expensive first, in two bounds. The stamp
-- about: lasts from the response after a skill was loaded until the end of the turn, whatever the responses do:
-- about: `cost_usd` is an upper bound. `load_cost_usd` is the cost of the response right after each load, the lower
-- about: bound.
-- note: Neither bound is what you would save without the skill. If a turn loads two skills, all
-- note: responses after the second load count for the second.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: skill -- Skill; null for responses without one.
-- column: cost_usd -- Cost of all responses with the stamp; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: load_cost_usd -- Cost of the first response after each load; null for responses without a skill. USD.
-- column: loads -- Loads: turns and skills with a stamp; null for responses without a skill. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- show: skill, cost_usd, loads, load_cost_usd as first responses, responses, total_tokens
-- total: totals
with stamped as (
  select
    u.skill, u.cost_usd, u.grain, u.total_tokens,
    row_number() over (
      partition by u.machine, u.agent, u.session_id, u.turn, u.skill
      order by u.timestamp asc nulls last, u.source_line asc nulls last, u.response_id asc nulls last
    ) as place
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
)
select
  skill,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
  count(*) filter (where cost_usd is null) as unpriced_responses,
  sum(case when skill is not null and place = 1 then round(cost_usd * 1e9) end) / 1e9 as load_cost_usd,
  nullif(count(*) filter (where skill is not null and place = 1), 0) as loads,
  nullif(count(*) filter (where grain = 'response'), 0) as responses,
  sum(total_tokens) as total_tokens
from stamped
group by skill
order by skill is null, cost_usd desc nulls last, skill nulls last
