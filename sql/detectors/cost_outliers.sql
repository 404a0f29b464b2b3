-- name: cost_outliers
-- needs: project is not null and cost_usd > $min_wasted_usd
-- title: Sessions far more expensive than the project's others
-- about: Sessions whose own cost is above an upper bound. The bound is the upper quartile of the project times the ratio
-- about: of the quartiles to the power of 1.5 (Tukey's fence on a logarithmic scale, because costs spread by factors). It
-- about: is at least `min_ratio` times the median, and at least the session's turns times the upper quartile of the cost
-- about: of a turn, so that a long session is no outlier for its length. The session's tokens are above their upper
-- about: quartile too, so that it is no outlier only because its model is more expensive.
-- about: A session is compared with the sessions of its project and machine that have a known cost; subagents are compared
-- about: with subagents. The filters choose what is reported; the bound always comes from all sessions.
-- about: The waste is the cost above the bound, which is an estimate: look at what the session did that others did not
-- about: need. Severity is medium from 0.5 USD on, high from 5.
-- todo: Read the session: is it the task, the model or the context?
-- habit: single sessions far more expensive than the others
-- param: min_sessions int = 10 -- Fewest sessions of a project for a comparison. Count.
-- param: min_ratio float = 3 -- Lowest cost of an outlier, in multiples of the median. Ratio.
-- param: min_wasted_usd float = 1 -- Lowest cost above the bound. USD.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with priced as (
  select
    s.machine, s.agent, s.session_id, s.project, s.kind, s.started_at, s.ended_at, s.title, s.turns, s.responses,
    s.compactions, s.total_tokens,
    round(s.cost_usd * 1e9) as nanos,
    round(s.cost_usd * 1e9) / greatest(s.turns, 1) as nanos_a_turn
  from sessions s
  where s.project is not null and s.cost_usd > 0
    and ($project is null or s.project = $project)
),
ranked as (
  select
    p.*,
    count(*) over (partition by machine, project, kind) as sessions,
    row_number() over (partition by machine, project, kind order by nanos, agent, session_id) as place,
    row_number() over (partition by machine, project, kind order by nanos_a_turn, agent, session_id) as place_a_turn,
    row_number() over (partition by machine, project, kind order by total_tokens, agent, session_id) as place_by_tokens
  from priced p
),
-- Takes the first session at or above the quantile, so that no engine has to interpolate.
quartiles as (
  select
    r.*,
    max(case when place = floor((sessions + 3) / 4.0) then nanos end) over (partition by machine, project, kind) as lower,
    max(case when place = floor((sessions + 1) / 2.0) then nanos end) over (partition by machine, project, kind) as middle,
    max(case when place = floor((sessions * 3 + 3) / 4.0) then nanos end) over (
      partition by machine, project, kind
    ) as upper,
    max(case when place_a_turn = floor((sessions * 3 + 3) / 4.0) then nanos_a_turn end) over (
      partition by machine, project, kind
    ) as upper_a_turn,
    max(case when place_by_tokens = floor((sessions * 3 + 3) / 4.0) then total_tokens end) over (
      partition by machine, project, kind
    ) as upper_tokens
  from ranked r
  where sessions >= $min_sessions
),
bounded as (
  select q.*, ceil(greatest(upper * (upper / lower) * sqrt(upper / lower), middle * $min_ratio, turns * upper_a_turn)) as bound
  from quartiles q
),
outliers as (
  select *
  from bounded
  where nanos > bound
    and total_tokens > upper_tokens
    and nanos - bound >= $min_wasted_usd * 1e9
    and ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
    and ($agent is null or agent = $agent)
),
places as (
  select m.machine, m.agent, m.session_id, m.seq
  from messages m
  join outliers o on o.machine = m.machine and o.agent = m.agent and o.session_id = m.session_id
  union all
  select t.machine, t.agent, t.session_id, t.seq
  from tool_calls t
  join outliers o on o.machine = t.machine and o.agent = t.agent and o.session_id = t.session_id
),
spans as (
  select machine, agent, session_id, min(seq) as first_seq, max(seq) as last_seq
  from places
  group by machine, agent, session_id
),
billed as (
  select u.machine, u.agent, u.session_id, array_sort(array_agg(u.response_id)) as responses
  from usage u
  join outliers o on o.machine = u.machine and o.agent = u.agent and o.session_id = u.session_id
  group by u.machine, u.agent, u.session_id
)
select
  'cost_outliers' as detector,
  o.agent,
  o.session_id,
  o.project,
  o.started_at,
  case when o.nanos - o.bound >= 5e9 then 'high' when o.nanos - o.bound >= 5e8 then 'medium' else 'low' end as severity,
  1 as occurrences,
  cast(floor(o.total_tokens * ((o.nanos - o.bound) / o.nanos)) as bigint) as wasted_tokens,
  (o.nanos - o.bound) / 1e9 as wasted_cost_usd,
  p.first_seq,
  p.last_seq,
  regexp_replace(reverse(regexp_replace(reverse(cast(o.turns as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when o.turns = 1 then ' turn, ' else ' turns, ' end
    || regexp_replace(reverse(regexp_replace(reverse(cast(o.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when o.responses = 1 then ' response' else ' responses' end
    || case when o.compactions = 0 then '' when o.compactions = 1 then ', 1 compaction'
       else ', ' || cast(o.compactions as text) || ' compactions' end
    || coalesce(': ' || nullif(trim(replace(substr(o.title, 1, 80), chr(10), ' ')), ''), '') as evidence,
  'It cost '
    || regexp_replace(reverse(regexp_replace(reverse(cast(cast(floor(o.nanos / o.middle) as bigint) as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' times the median of the '
    || regexp_replace(reverse(regexp_replace(reverse(cast(o.sessions as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when o.kind = 'subagent' then ' subagents' else ' sessions' end || ' of this project'
    || case when o.turns < 2 then '.' else ', and more than as many turns usually do.' end
    || case when o.compactions > 0 then ' Its context was full: give such work to several sessions.'
            else ' Look for what it repeated or read without need, and give the next such task in smaller parts.' end
    as explanation,
  'estimated' as basis,
  o.machine,
  b.responses
from outliers o
left join spans p on p.machine = o.machine and p.agent = o.agent and p.session_id = o.session_id
left join billed b on b.machine = o.machine and b.agent = o.agent and b.session_id = o.session_id
order by wasted_cost_usd desc nulls last, o.started_at, o.agent, o.machine, o.session_id, p.first_seq
