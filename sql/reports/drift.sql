-- name: drift
-- title: Cost and failures from week to week
-- group: Cost -- also compare
-- about: What turns cost and how they ended, by week, agent, model, effort and version, newest week first. Each 95 % interval
-- about: over sessions stands next to that of the four weeks before. `moved` is set if the two do not overlap, this week and
-- about: also the week before, in the same direction. Turns with several models or efforts are left out, as are subagents and,
-- about: for cost and tokens, turns whose counts are not exact or not known; for cost, also turns without a known price. With
-- about: fewer than `min_sessions` sessions, only the counts are shown.
-- note: About one comparison in a hundred moves by chance, and there are many. A change of tasks moves the figures too.
-- param: min_sessions int = 20 -- Fewest sessions for a figure. Count.
-- param: by_version bool = true -- False takes all versions of an agent together.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: week -- Monday of the week in which the sessions started.
-- column: agent -- Coding agent.
-- column: model -- Model as priced, or as stored if it has no price; null if none is recorded.
-- column: effort -- Reasoning effort; null if none is recorded.
-- column: agent_version -- Version of the agent; null if none is recorded.
-- column: measure -- usd_per_turn, tokens_per_turn, calls_per_turn, failed_share (of tool calls; refused ones did not fail) or aborted_share (of turns).
-- column: sessions -- Sessions with such turns. Count.
-- column: figure -- Mean over sessions, or share of all calls or turns.
-- column: low -- Lower end of the interval.
-- column: high -- Upper end of the interval.
-- column: sessions_before -- Sessions of the four weeks before, of all versions. Count.
-- column: low_before -- Lower end of their interval.
-- column: high_before -- Upper end of their interval.
-- column: moved -- up or down, if the intervals do not overlap in this week and in the week before, in the same direction; else null.
-- show: week, agent, model, measure, figure, low, high, moved, sessions, low_before, high_before, effort,
-- show: agent_version, sessions_before
with chosen as (
  select
    s.machine, s.agent, s.session_id,
    case when $by_version then coalesce(s.agent_version, '') else '' end as version,
    date_trunc('week', s.started_at) as monday,
    -- Number of the week. 1970 began on a Thursday, and 14 hours more cover every time zone.
    floor((extract(epoch from date_trunc('week', s.started_at)) + 309600) / 604800.0) as week
  from sessions s
  where not s.is_subagent and s.started_at is not null
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
responses as (
  select
    c.machine, c.agent, c.session_id, c.version, c.monday, c.week, u.turn,
    coalesce(u.model_key, u.model, '') as model,
    coalesce(u.reasoning_effort, '') as effort,
    u.cost_usd, u.total_tokens, u.is_partial
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response' and u.turn is not null and not u.is_sidechain
),
turns as (
  select
    machine, agent, session_id, version, monday, week, turn,
    min(model) as model,
    max(model) as other_model,
    min(effort) as effort,
    max(effort) as other_effort,
    bool_or(is_partial) as is_partial,
    -- Whole micro-dollars add up to the same sum in any order.
    case when count(cost_usd) = count(*) then sum(round(cost_usd * 1e6)) end as micros,
    case when count(total_tokens) = count(*) then sum(total_tokens) end as tokens
  from responses
  group by machine, agent, session_id, version, monday, week, turn
),
calls as (
  select
    t.machine, t.agent, t.session_id, t.turn,
    count(*) as calls,
    count(*) filter (where t.status = 'error' and t.is_denied is not true) as failed
  from tool_calls t
  where t.turn is not null
  group by t.machine, t.agent, t.session_id, t.turn
),
aborts as (
  select distinct m.machine, m.agent, m.session_id, m.turn
  from messages m
  where m.kind = 'abort' and m.turn is not null
),
by_session as (
  select
    t.machine, t.agent, t.session_id, t.version, t.monday, t.week, t.model, t.effort,
    count(*) as turns,
    count(case when not t.is_partial then t.micros end) as priced_turns,
    count(case when not t.is_partial then t.tokens end) as counted_turns,
    sum(case when not t.is_partial then t.micros end) as micros,
    sum(case when not t.is_partial then t.tokens end) as tokens,
    coalesce(sum(c.calls), 0) as calls,
    coalesce(sum(c.failed), 0) as failed,
    count(a.turn) as aborted
  from turns t
  left join calls c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id and c.turn = t.turn
  left join aborts a on a.machine = t.machine and a.agent = t.agent and a.session_id = t.session_id and a.turn = t.turn
  where t.model = t.other_model and t.effort = t.other_effort
  group by t.machine, t.agent, t.session_id, t.version, t.monday, t.week, t.model, t.effort
),
-- Means are over the sessions' values, in whole units of 1 / scale; shares are of all calls or turns. Numbers with an
-- exponent are doubles on every engine: some compute the others in decimals.
measured as (
  select agent, version, monday, week, model, effort, 'usd_per_turn' as measure, 1e6 as scale,
    round(micros / nullif(priced_turns, 0)) as value, 0 as part, 0 as whole
  from by_session
  union all
  select agent, version, monday, week, model, effort, 'tokens_per_turn', 1e0, round(tokens * 1e0 / nullif(counted_turns, 0)), 0, 0
  from by_session
  union all
  select agent, version, monday, week, model, effort, 'calls_per_turn', 1e4, round(calls * 1e4 / turns), 0, 0
  from by_session
  union all
  select agent, version, monday, week, model, effort, 'failed_share', 1e0, cast(null as double), failed, calls
  from by_session
  where calls > 0
  union all
  select agent, version, monday, week, model, effort, 'aborted_share', 1e0, cast(null as double), aborted, turns
  from by_session
),
sums as (
  select
    agent, version, monday, week, model, effort, measure, scale,
    count(*) filter (where value is not null or whole > 0) as sessions,
    sum(value) as total,
    sum(value * value) as squares,
    sum(part) as part,
    sum(whole) as whole
  from measured
  group by agent, version, monday, week, model, effort, measure, scale
),
weeks as (
  select
    agent, week, model, effort, measure,
    sum(sessions) as sessions, sum(total) as total, sum(squares) as squares, sum(part) as part, sum(whole) as whole
  from sums
  group by agent, week, model, effort, measure
),
paired as (
  select s.*, 1 as is_week from sums s
  union all
  select
    s.agent, s.version, s.monday, s.week, s.model, s.effort, s.measure, s.scale,
    coalesce(sum(w.sessions), 0), sum(w.total), sum(w.squares), sum(w.part), sum(w.whole), 0
  from sums s
  left join weeks w
    on w.agent = s.agent and w.model = s.model and w.effort = s.effort and w.measure = s.measure
      and w.week >= s.week - 4 and w.week < s.week
  group by s.agent, s.version, s.monday, s.week, s.model, s.effort, s.measure, s.scale
),
figures as (
  select
    b.*,
    cast(nullif(b.sessions, 0) as double) as n,
    case when b.measure like '%_share' then cast(b.part as double) / nullif(b.whole, 0) else b.total / nullif(b.sessions, 0) end
      as figure,
    -- Standard error of the mean over sessions.
    case when b.sessions > 1 then
      sqrt(greatest(b.squares - b.total * b.total / b.sessions, 0) / (b.sessions - 1) / b.sessions)
    end as error
  from paired b
),
intervals as (
  select
    agent, version, monday, week, model, effort, measure, is_week, sessions,
    case when sessions >= $min_sessions then 1 end as is_shown,
    round(figure / scale, 6) as figure,
    -- Wilson's interval for shares, with the number of sessions: turns and calls of one session are alike.
    case
      when figure is null then null -- `greatest` leaves nulls out
      when measure like '%_share' then round(greatest((figure + 1.92 / n
        - 1.96 * sqrt(greatest(figure * (1 - figure), 0) / n + 0.96 / (n * n))) / (1 + 3.84 / n), 0), 6)
      when error is not null then round(greatest(figure - 1.96 * error, 0) / scale, 6)
    end as low,
    round(case
      when figure is null then null -- `least` leaves nulls out
      when measure like '%_share' then least((figure + 1.92 / n
        + 1.96 * sqrt(greatest(figure * (1 - figure), 0) / n + 0.96 / (n * n))) / (1 + 3.84 / n), 1)
      else (figure + 1.96 * error) / scale
    end, 6) as high
  from figures
),
compared as (
  select
    agent, version, monday, week, model, effort, measure,
    max(case when is_week = 1 then sessions end) as sessions,
    max(case when is_week = 1 then figure * is_shown end) as figure,
    max(case when is_week = 1 then low * is_shown end) as low,
    max(case when is_week = 1 then high * is_shown end) as high,
    max(case when is_week = 0 then sessions end) as sessions_before,
    max(case when is_week = 0 then low * is_shown end) as low_before,
    max(case when is_week = 0 then high * is_shown end) as high_before
  from intervals
  group by agent, version, monday, week, model, effort, measure
),
directed as (
  select
    c.*,
    case when low > high_before then 'up' when high < low_before then 'down' end as direction
  from compared c
),
directions as (
  select distinct agent, week, model, effort, measure, direction from directed where direction is not null
),
labelled as (
  select
    cast(d.monday as date) as week,
    d.agent,
    nullif(d.model, '') as model,
    nullif(d.effort, '') as effort,
    nullif(d.version, '') as agent_version,
    d.measure,
    d.sessions,
    d.figure,
    d.low,
    d.high,
    d.sessions_before,
    d.low_before,
    d.high_before,
    p.direction as moved
  from directed d
  left join directions p
    on p.agent = d.agent and p.model = d.model and p.effort = d.effort and p.measure = d.measure
      and p.week = d.week - 1 and p.direction = d.direction
  where d.sessions > 0
)
select *
from labelled
order by week desc nulls last, agent, model nulls first, effort nulls first, agent_version nulls first, measure desc nulls last
