-- name: compare
-- title: Models, efforts, versions side by side
-- group: Cost -- models, efforts or versions side by side
-- about: What a turn costs and how it ends, by model, agent, effort, version or entry point, with 95 % intervals over
-- about: sessions. Turns with several values of it are left out, as are turns without a response, subagents, and agents
-- about: that record no single responses. With fewer than `min_sessions` sessions, only the counts are shown.
-- note: Hard tasks go to strong models: compare within a project (`projects` shows the mix). Compare efforts and turns
-- note: within an agent: agents count them differently. About one comparison in twenty differs by chance.
-- param: by text = 'model' | 'agent' | 'effort' | 'version' | 'entrypoint' -- What to compare: model, agent, effort, version or entrypoint.
-- param: min_sessions int = 20 -- Fewest sessions for a figure. Count.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: agent -- Coding agent.
-- column: value -- Model, agent, effort, version or entry point; null if none is recorded.
-- column: sessions -- Sessions with such turns. Count.
-- column: projects -- Projects of these sessions. Count.
-- column: turns -- Turns. Count.
-- column: mixed_turns -- Turns with several values, which are left out; counted at each of the values. Count.
-- column: usd_per_turn -- Mean over sessions of their mean cost of a turn, over the turns whose responses all have a price. USD.
-- column: usd_low -- Lower end of the interval. USD.
-- column: usd_high -- Upper end of the interval. USD.
-- column: tokens_per_turn -- Mean over sessions of their mean tokens of a turn, output and input. Tokens.
-- column: calls_per_turn -- Mean over sessions of their mean tool calls of a turn. Count.
-- column: failed_share -- Share of tool calls that failed. 0 to 1.
-- column: failed_low -- Lower end of the interval. 0 to 1.
-- column: failed_high -- Upper end of the interval. 0 to 1.
-- column: aborted_share -- Share of turns that were aborted. 0 to 1.
-- column: reasoning_share -- Reasoning as a share of the output, where it is recorded. 0 to 1.
-- show: value, usd_per_turn as cost per turn, usd_low as from, usd_high as to, sessions, turns,
-- show: failed_share as failed, failed_low as from, failed_high as to, aborted_share as aborted, tokens_per_turn,
-- show: calls_per_turn, reasoning_share as reasoning, agent, projects, mixed_turns
with responses as (
  select
    u.machine, u.agent, u.session_id, u.turn, s.project, u.cost_usd, u.total_tokens, u.output_tokens, u.reasoning_tokens,
    case
      when $by = 'model' then coalesce(u.model_key, u.model)
      when $by = 'agent' then u.agent
      when $by = 'effort' then u.reasoning_effort
      when $by = 'version' then s.agent_version
      when $by = 'entrypoint' then s.entrypoint
    end as value
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where u.grain = 'response' and u.turn is not null and not s.is_subagent and not u.is_sidechain
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
turns as (
  select
    machine, agent, session_id, turn, project,
    min(value) as value,
    max(value) as other_value,
    -- Whole nano-dollars add up to the same sum in any order.
    case when count(cost_usd) = count(*) then sum(round(cost_usd * 1e9)) end as nanos,
    sum(total_tokens) as tokens,
    sum(case when reasoning_tokens is not null then output_tokens end) as output_tokens,
    sum(reasoning_tokens) as reasoning_tokens
  from responses
  group by machine, agent, session_id, turn, project
),
calls as (
  select
    t.machine, t.agent, t.session_id, t.turn,
    count(*) as calls,
    count(*) filter (where t.status = 'error') as failed
  from tool_calls t
  where t.turn is not null and not t.is_sidechain
  group by t.machine, t.agent, t.session_id, t.turn
),
aborts as (
  select distinct m.machine, m.agent, m.session_id, m.turn
  from messages m
  where m.kind = 'abort' and m.turn is not null and not m.is_sidechain
),
mixed as (
  select agent, value, count(*) as mixed_turns
  from (
    select distinct r.machine, r.agent, r.session_id, r.turn, r.value
    from responses r
    join turns t on t.machine = r.machine and t.agent = r.agent and t.session_id = r.session_id and t.turn = r.turn
    where t.value <> t.other_value and r.value is not null
  )
  group by agent, value
),
by_session as (
  select
    t.machine, t.agent, t.session_id, t.value, t.project,
    count(*) as turns,
    sum(t.nanos) / 1e9 / nullif(count(t.nanos), 0) as usd,
    sum(t.tokens) * 1.0 / count(*) as tokens,
    coalesce(sum(c.calls), 0) as calls,
    coalesce(sum(c.failed), 0) as failed,
    count(a.turn) as aborted,
    sum(t.output_tokens) as output_tokens,
    sum(t.reasoning_tokens) as reasoning_tokens
  from turns t
  left join calls c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id and c.turn = t.turn
  left join aborts a on a.machine = t.machine and a.agent = t.agent and a.session_id = t.session_id and a.turn = t.turn
  where t.value is null or t.value = t.other_value
  group by t.machine, t.agent, t.session_id, t.value, t.project
),
compared as (
  select
    agent,
    value,
    count(*) as sessions,
    count(distinct project) as projects,
    sum(turns) as turns,
    round(sum(round(usd * 1e9)) / 1e9 / nullif(count(usd), 0), 6) as usd,
    sum(round(usd * 1e9)) as usd_sum,
    sum(round(usd * 1e6) * round(usd * 1e6)) as usd_squares,
    count(usd) as priced,
    sum(round(tokens)) as tokens,
    count(tokens) as counted,
    sum(round(calls * 1e6 / turns)) as calls_per_turn,
    sum(calls) as calls,
    sum(failed) as failed,
    sum(aborted) as aborted,
    sum(output_tokens) as output_tokens,
    sum(reasoning_tokens) as reasoning_tokens
  from by_session
  group by agent, value
),
figures as (
  select
    c.*,
    -- Standard error of the mean over sessions.
    case when priced > 1 then
      sqrt(greatest(usd_squares / 1e12 - (usd_sum / 1e9) * (usd_sum / 1e9) / priced, 0) / (priced - 1) / priced)
    end as usd_error,
    -- As doubles: some engines would compute the intervals in decimals.
    cast(failed as double) / nullif(calls, 0) as failed_share,
    cast(sessions as double) as n
  from compared c
)
select
  coalesce(f.agent, m.agent) as agent,
  coalesce(f.value, m.value) as value,
  coalesce(f.sessions, 0) as sessions,
  coalesce(f.projects, 0) as projects,
  coalesce(f.turns, 0) as turns,
  coalesce(m.mixed_turns, 0) as mixed_turns,
  case when f.sessions >= $min_sessions then f.usd end as usd_per_turn,
  -- `greatest` leaves nulls out.
  case when f.sessions >= $min_sessions and f.usd_error is not null then round(greatest(f.usd - 1.96 * f.usd_error, 0), 6)
  end as usd_low,
  case when f.sessions >= $min_sessions then round(f.usd + 1.96 * f.usd_error, 6) end as usd_high,
  case when f.sessions >= $min_sessions then cast(round(f.tokens / nullif(f.counted, 0)) as bigint) end as tokens_per_turn,
  case when f.sessions >= $min_sessions then round(f.calls_per_turn / 1e6 / f.sessions, 2) end as calls_per_turn,
  case when f.sessions >= $min_sessions then round(f.failed_share, 4) end as failed_share,
  -- Wilson's interval, with the number of sessions: calls of one session are alike.
  case when f.sessions >= $min_sessions and f.failed_share is not null then round(greatest((f.failed_share + 1.92 / f.n
    - 1.96 * sqrt(f.failed_share * (1 - f.failed_share) / f.n + 0.96 / (f.n * f.n))) / (1 + 3.84 / f.n), 0), 4)
  end as failed_low,
  case when f.sessions >= $min_sessions then round((f.failed_share + 1.92 / f.n
    + 1.96 * sqrt(f.failed_share * (1 - f.failed_share) / f.n + 0.96 / (f.n * f.n))) / (1 + 3.84 / f.n), 4)
  end as failed_high,
  case when f.sessions >= $min_sessions then round(f.aborted * 1.0 / f.turns, 4) end as aborted_share,
  case when f.sessions >= $min_sessions then round(f.reasoning_tokens * 1.0 / nullif(f.output_tokens, 0), 4) end
    as reasoning_share
from figures f
full join mixed m on m.agent = f.agent and m.value = f.value
order by agent, sessions desc nulls last, value nulls last
