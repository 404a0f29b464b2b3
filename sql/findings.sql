-- Findings of all detectors as one table, in which no token and no dollar of a session counts twice.
--
-- `found` holds what the detectors gave. A finding counts when it overlaps no finding of its session that wastes more;
-- the others are told with nothing wasted, and with what they waste alone. A session's findings together never waste more
-- than it spent.
with ranked as (
  select
    found.*,
    row_number() over (
      partition by machine, agent, session_id
      order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, detector, first_seq nulls first, last_seq
    ) as place,
    coalesce(first_seq, 0) as opens,
    coalesce(last_seq, 9223372036854775807) as closes
  from found
),
overlapped as (
  select distinct l.machine, l.agent, l.session_id, l.place
  from ranked l
  join ranked g
    on g.machine = l.machine and g.agent = l.agent and g.session_id = l.session_id
    and g.place < l.place and g.opens <= l.closes and l.opens <= g.closes
  where coalesce(g.wasted_cost_usd, 0) > 0 or coalesce(g.wasted_tokens, 0) > 0
),
counted as (
  select
    r.*,
    case when o.place is null then r.wasted_tokens else 0 end as own_tokens,
    case when o.place is null then r.wasted_cost_usd else 0 end as own_cost,
    coalesce(s.total_tokens, 0) as spent_tokens,
    coalesce(s.cost_usd, 0) as spent_cost
  from ranked r
  join sessions s on s.machine = r.machine and s.agent = r.agent and s.session_id = r.session_id
  left join overlapped o
    on o.machine = r.machine and o.agent = r.agent and o.session_id = r.session_id and o.place = r.place
),
added as (
  select
    counted.*,
    coalesce(sum(own_tokens) over before, 0) as tokens_before,
    coalesce(sum(own_cost) over before, 0) as cost_before
  from counted
  window before as (
    partition by machine, agent, session_id order by place rows between unbounded preceding and 1 preceding
  )
)
select
  detector,
  agent,
  session_id,
  project,
  started_at,
  severity,
  occurrences,
  case when wasted_tokens is not null
    then cast(greatest(0, least(own_tokens, spent_tokens - tokens_before)) as bigint) end as wasted_tokens,
  case when wasted_cost_usd is not null
    then cast(greatest(0, least(own_cost, spent_cost - cost_before)) as double) end as wasted_cost_usd,
  first_seq,
  last_seq,
  evidence,
  explanation,
  basis,
  machine,
  wasted_cost_usd as alone_cost_usd
from added
order by
  wasted_cost_usd desc nulls last,
  wasted_tokens desc nulls last,
  case severity when 'high' then 0 when 'medium' then 1 else 2 end,
  started_at desc nulls last,
  detector, agent, machine, session_id, first_seq
