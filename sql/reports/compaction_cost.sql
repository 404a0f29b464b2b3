-- name: compaction_cost
-- title: What compactions cost
-- group: Caches -- also compaction_rate
-- about: What compactions removed from the context and what the request after each cost, by project, agent and cause,
-- about: most expensive first. Subagents count too. Compactions without a response between them count as one.
-- note: The cost is a lower bound: most agents do not record the request that writes the summary.
-- param: regrowth int = 10 from 1 -- Responses after a compaction in which the context grows again. Count.
-- param: since timestamp = null -- Only sessions that started at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: cause -- Who asked for it: manual (the command of the person) or automatic.
-- column: compactions -- Compactions with a response before and after. Count.
-- column: median_tokens_before -- Median context of the last response before: input of all kinds and output. Tokens.
-- column: median_tokens_after -- Median context of the first request after: input of all kinds. Tokens.
-- column: median_tokens_regrown -- Median growth of the context within the responses after it. Tokens.
-- column: cost_after_usd -- Cost of the first responses after; null if none has a price. USD.
-- show: project, agent, cause, compactions, cost_after_usd as cost after, median_tokens_before, median_tokens_after,
-- show: median_tokens_regrown
-- total: sum of compactions, cost_after_usd
with summaries as (
  select m.machine, m.agent, m.session_id, m.timestamp, m.message_id, m.turn
  from messages m
  join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
  where m.kind = 'compaction' and m.timestamp is not null and (s.is_subagent or not m.is_sidechain)
),
compacted as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    row_number() over (
      order by s.machine asc nulls last, s.agent asc nulls last, s.session_id asc nulls last
    ) as number
  from sessions s
  join (select distinct machine, agent, session_id from summaries) m
    on m.machine = s.machine and m.agent = s.agent and m.session_id = s.session_id
),
events as (
  select
    c.number, u.timestamp as moment, 0 as is_compaction, u.response_id as id,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0)
      + coalesce(u.cache_write_1h_tokens, 0) as tokens,
    coalesce(u.output_tokens, 0) as output_tokens,
    u.cost_usd, cast(null as bigint) as turn
  from usage u
  join compacted c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response' and u.total_tokens is not null and u.timestamp is not null
    and (c.is_subagent or not u.is_sidechain)
  union all
  select
    c.number, m.timestamp, 1, m.message_id, 0, 0, cast(null as double), m.turn
  from summaries m
  join compacted c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
),
parts as (
  select
    e.*,
    sum(e.is_compaction) over (
      partition by e.number
      order by e.moment asc nulls last, e.is_compaction desc nulls last, e.id asc nulls last
      rows between unbounded preceding and current row
    ) as part
  from events e
),
numbered as (
  select
    p.*,
    row_number() over (
      partition by p.number, p.part, p.is_compaction
      order by p.moment asc nulls last, p.id asc nulls last
    ) as place,
    count(*) over (partition by p.number, p.part, p.is_compaction) as places
  from parts p
),
by_part as (
  select
    number, part,
    max(case when is_compaction = 1 then turn end) as turn,
    max(case when is_compaction = 1 then moment end) as compacted_at,
    max(case when is_compaction = 0 and place = places then tokens + output_tokens end) as last_tokens,
    max(case when is_compaction = 0 and place = 1 then tokens end) as first_tokens,
    max(case when is_compaction = 0 and place <= $regrowth then tokens end) as regrown_tokens,
    max(case when is_compaction = 0 and place = 1 then cost_usd end) as first_cost_usd
  from numbered
  group by number, part
),
followed as (
  select p.*, lag(p.last_tokens) over (partition by p.number order by p.part) as tokens_before
  from by_part p
  where p.last_tokens is not null
),
manual as (
  select m.machine, m.agent, m.session_id, m.turn, min(m.timestamp) as asked_at
  from messages m
  where m.kind = 'command'
    and (
      m.text = '/compact' or m.text like '/compact %' or m.text = '/compress'
      or m.text like '%<command-name>/compact</command-name>%'
    )
  group by m.machine, m.agent, m.session_id, m.turn
),
compactions as (
  select
    s.project, s.agent,
    -- Claude Code may write the command after the compaction, as a turn of its own.
    case when c.turn is not null or n.asked_at <= a.compacted_at then 'manual' else 'automatic' end as cause,
    a.tokens_before, a.first_tokens as tokens_after,
    a.regrown_tokens - a.first_tokens as tokens_regrown, a.first_cost_usd
  from followed a
  join compacted s on s.number = a.number
  left join manual c
    on c.machine = s.machine and c.agent = s.agent and c.session_id = s.session_id and c.turn = a.turn
  left join manual n
    on n.machine = s.machine and n.agent = s.agent and n.session_id = s.session_id and n.turn = a.turn + 1
  where a.tokens_before is not null
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
)
select
  project,
  agent,
  cause,
  count(*) as compactions,
  cast(floor(median(tokens_before)) as bigint) as median_tokens_before,
  cast(floor(median(tokens_after)) as bigint) as median_tokens_after,
  cast(floor(median(tokens_regrown)) as bigint) as median_tokens_regrown,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(first_cost_usd * 1e9)) / 1e9 as cost_after_usd
from compactions
group by project, agent, cause
order by cost_after_usd desc nulls last, compactions desc nulls last, project nulls last, agent, cause
