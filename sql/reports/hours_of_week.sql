-- name: hours_of_week
-- title: Hours of the week
-- group: Time -- when you work
-- about: When the work is done: responses and their cost by weekday and hour, in the session's time zone.
-- about: Usage without a recorded time is left out.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: weekday -- 1 Monday to 7 Sunday.
-- column: hour -- 0 to 23.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: sessions -- Sessions with usage in this time; a subagent's session counts as part of its parent. Count.
-- column: total_tokens -- Tokens of all kinds. Tokens.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- show: weekday, hour, cost_usd, sessions, responses, total_tokens
-- total: sum of responses, total_tokens, cost_usd
with placed as (
  select
    extract(isodow from u.timestamp) as weekday,
    extract(hour from u.timestamp) as hour,
    u.machine || '/' || u.agent || '/' || s.root_session_id as session,
    u.grain,
    u.total_tokens,
    u.cost_usd
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.timestamp is not null
    and ($since is null or u.timestamp >= $since)
    and ($until is null or u.timestamp < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
)
select
  weekday,
  hour,
  nullif(count(*) filter (where grain = 'response'), 0) as responses,
  count(distinct session) as sessions,
  sum(total_tokens) as total_tokens,
  sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
  count(*) filter (where cost_usd is null) as unpriced_responses
from placed
group by weekday, hour
order by weekday, hour
