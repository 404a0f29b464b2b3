-- name: tool_latency
-- title: How long tools take
-- group: Tools -- how long calls take
-- about: How long calls of each tool took, the most total time first. Calls without a recorded duration are left out. The
-- about: wait for the person's approval is included if the agent does not record it separately.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: agent -- Coding agent.
-- column: name -- Tool, as the agent names it.
-- column: calls -- Calls with a duration. Count.
-- column: total_ms -- Time of all calls. Milliseconds.
-- column: median_ms -- Median duration of a call. Milliseconds.
-- column: p95_ms -- 95th percentile of the duration, interpolated. Milliseconds.
-- column: longest_ms -- Duration of the longest call. Milliseconds.
-- show: name as tool, agent, calls, total_ms as total, median_ms as median, p95_ms as 95%, longest_ms as longest
-- total: sum of calls, total_ms
with timed as (
  select
    t.agent, t.name, cast(t.duration_ms as double) as duration_ms,
    count(*) over (partition by t.agent, t.name) as calls,
    row_number() over (partition by t.agent, t.name order by t.duration_ms) as place
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where t.duration_ms is not null
    and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
),
-- The two calls around the 95th percentile. Only whole numbers are used: engines round 0.95 of a count differently.
placed as (
  select
    *,
    floor((calls - 1) * 95 / 100.0) + 1 as lower_place,
    (calls - 1) * 95 % 100 as hundredths
  from timed
)
select
  agent,
  name,
  count(*) as calls,
  round(sum(duration_ms)) as total_ms,
  round(median(duration_ms)) as median_ms,
  round(sum(case
    when place = lower_place then duration_ms * (100 - hundredths)
    when place = lower_place + 1 then duration_ms * hundredths
  end) / 100.0) as p95_ms,
  round(max(duration_ms)) as longest_ms
from placed
group by agent, name
order by total_ms desc nulls last, agent, name
