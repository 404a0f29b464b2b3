-- name: runaway_subagents
-- title: Subagents whose cost is far from what they brought back
-- about: Subagents that changed nothing and answered with little for what they used: more than `max_ratio` tokens for each token
-- about: of the answer (the longest text that they wrote or their caller received, four letters a token). What is above is the
-- about: waste, estimated as that share of the subagent's cost. The finding belongs to the subagent, never to its caller, so no
-- about: dollar counts twice; but the threshold is on all subagents of one caller together, so that many small ones count as
-- about: one large one. Not judged: subagents that edited, committed or returned data by a tool, and those that left no text.
-- param: max_ratio int = 2000 -- Tokens used for a token brought back that are still fair. Tokens.
-- param: min_wasted_usd float = 0.5 -- Waste of all subagents of one caller that makes findings. USD.
-- param: min_wasted_tokens int = 2000000 -- The same for those whose price is unknown. Tokens.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with subagents as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.subagent_type, s.title, s.responses,
    s.total_tokens, s.cost_usd, coalesce(s.parent_session_id, s.session_id) as caller,
    sum(round(s.cost_usd * 1e9)) over (
      partition by s.machine, s.agent, coalesce(s.parent_session_id, s.session_id)
    ) / 1e9 as cost_of_all,
    sum(case when s.cost_usd is null then s.total_tokens end) over (
      partition by s.machine, s.agent, coalesce(s.parent_session_id, s.session_id)
    ) as unpriced_of_all
  from sessions s
  where s.is_subagent
    and s.total_tokens > 0
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
chosen as (
  select * from subagents where cost_of_all >= $min_wasted_usd or unpriced_of_all >= $min_wasted_tokens
),
done as (
  select
    t.machine, t.agent, t.session_id,
    max(t.seq) as last_seq,
    bool_or(t.name = 'StructuredOutput' or (t.status = 'ok' and (
      t.category in ('edit', 'write')
      or (t.category = 'shell' and (
        t.command like '%apply_patch%' or t.command like '%git commit%' or t.command like '%git push%'
        or t.command like '%sed -i%' or t.command like '%cat >%' or t.command like '%tee %'))
    ))) as has_changed
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  group by t.machine, t.agent, t.session_id
),
received as (
  select t.machine, t.agent, t.child_session_id, max(t.output_bytes) as bytes
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.child_session_id
  where t.child_session_id is not null and t.status = 'ok'
  group by t.machine, t.agent, t.child_session_id
),
written as (
  select
    m.machine, m.agent, m.session_id,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq,
    max(case when m.kind = 'reply' then length(m.text) end) as letters
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  group by m.machine, m.agent, m.session_id
),
yields as (
  select
    c.*,
    w.first_seq,
    greatest(w.last_seq, coalesce(d.last_seq, w.last_seq)) as last_seq,
    cast(floor(greatest(coalesce(w.letters, 0), coalesce(r.bytes, 0)) / 4.0) as bigint) as yield_tokens
  from chosen c
  join written w on w.machine = c.machine and w.agent = c.agent and w.session_id = c.session_id
  left join received r on r.machine = c.machine and r.agent = c.agent and r.child_session_id = c.session_id
  left join done d on d.machine = c.machine and d.agent = c.agent and d.session_id = c.session_id
  where coalesce(w.letters, r.bytes) > 0 and not coalesce(d.has_changed, false)
),
excesses as (
  select
    y.*,
    total_tokens - $max_ratio * yield_tokens as wasted_tokens,
    floor(round(cost_usd * 1e9) * (total_tokens - $max_ratio * yield_tokens) / total_tokens) as nanos
  from yields y
  where total_tokens > $max_ratio * yield_tokens
),
fan_outs as (
  select
    e.*,
    count(*) over (partition by machine, agent, caller) as runaways,
    sum(nanos) over (partition by machine, agent, caller) / 1e9 as wasted_of_all,
    sum(case when nanos is null then wasted_tokens end) over (partition by machine, agent, caller) as unpriced_wasted_of_all
  from excesses e
)
select
  'runaway_subagents' as detector,
  agent,
  session_id,
  project,
  started_at,
  case when nanos >= 5e9 then 'high' when nanos >= 5e8 then 'medium' else 'low' end as severity,
  greatest(responses, 1) as occurrences,
  wasted_tokens,
  nanos / 1e9 as wasted_cost_usd,
  first_seq,
  last_seq,
  coalesce(subagent_type, 'subagent')
    || coalesce(': ' || nullif(trim(replace(substr(title, 1, 80), chr(10), ' ')), ''), '') as evidence,
  'It used ' || cast(total_tokens as text) || ' tokens and changed nothing. The answer has about ' || cast(yield_tokens as text)
    || '; up to ' || cast($max_ratio as text) || ' used for each are fair. '
    || case when runaways = 1 then 'Ask it for less, or name the files.'
       else cast(runaways as text) || ' subagents of this caller did so: start fewer, or name the files.' end as explanation,
  'estimated' as basis,
  machine
from fan_outs
where (nanos is not null and wasted_of_all >= $min_wasted_usd)
  or (nanos is null and unpriced_wasted_of_all >= $min_wasted_tokens)
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, started_at, agent, machine, session_id, first_seq
