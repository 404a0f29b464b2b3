-- Findings of all detectors as one table. It counts no token and no dollar of a session twice.
--
-- `found` holds the rows of the detectors. Two findings overlap if they list the same response. The response counts for the
-- finding that wastes most of it, and each finding keeps the share of its waste that belongs to its remaining responses.
-- A finding that lists no responses counts all in its range of `seq`: of two overlapping ranges, the one that wastes less
-- has a waste of 0. `alone_cost_usd` holds the waste of each finding when looked at alone. The findings of a session
-- together never waste more than it spent.
-- `first_at` is the time of the message or call at `first_seq`. Both tables share the numbers of `seq`.
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
  where (g.responses is null or l.responses is null)
    and (coalesce(g.wasted_cost_usd, 0) > 0 or coalesce(g.wasted_tokens, 0) > 0)
),
named as (
  select
    r.machine, r.agent, r.session_id, r.place, r.wasted_tokens, r.wasted_cost_usd,
    unnest(r.responses) as response_id
  from ranked r
  left join overlapped o
    on o.machine = r.machine and o.agent = r.agent and o.session_id = r.session_id and o.place = r.place
  where o.place is null and (r.wasted_cost_usd > 0 or r.wasted_tokens > 0)
),
billed as (
  select
    n.machine, n.agent, n.session_id, n.place, n.response_id, n.wasted_tokens, n.wasted_cost_usd,
    coalesce(sum(u.total_tokens), 0) as tokens,
    coalesce(sum(round(u.cost_usd * 1e9)), 0) as nanos
  from (select distinct * from named) as n
  join usage u
    on u.machine = n.machine and u.agent = n.agent and u.session_id = n.session_id and u.response_id = n.response_id
  group by n.machine, n.agent, n.session_id, n.place, n.response_id, n.wasted_tokens, n.wasted_cost_usd
),
summed as (
  select
    *,
    sum(tokens) over (partition by machine, agent, session_id, place) as all_tokens,
    sum(nanos) over (partition by machine, agent, session_id, place) as all_nanos
  from billed
),
contended as (
  select
    *,
    row_number() over (
      partition by machine, agent, session_id, response_id
      order by
        wasted_cost_usd * nanos / greatest(all_nanos, 1) desc nulls last,
        cast(wasted_tokens as double) * tokens / greatest(all_tokens, 1) desc nulls last,
        place
    ) as claim
  from summed
),
kept as (
  select
    machine, agent, session_id, place,
    sum(case when claim = 1 then tokens else 0 end) / cast(greatest(max(all_tokens), 1) as double) as token_share,
    sum(case when claim = 1 then nanos else 0 end) / cast(greatest(max(all_nanos), 1) as double) as cost_share
  from contended
  group by machine, agent, session_id, place
),
counted as (
  select
    r.*,
    case
      when o.place is not null then 0
      else cast(floor(r.wasted_tokens * coalesce(k.token_share, 1)) as bigint)
    end as own_tokens,
    case when o.place is not null then 0 else r.wasted_cost_usd * coalesce(k.cost_share, 1) end as own_cost,
    coalesce(s.total_tokens, 0) as spent_tokens,
    coalesce(s.cost_usd, 0) as spent_cost
  from ranked r
  join sessions s on s.machine = r.machine and s.agent = r.agent and s.session_id = r.session_id
  left join overlapped o
    on o.machine = r.machine and o.agent = r.agent and o.session_id = r.session_id and o.place = r.place
  left join kept k
    on k.machine = r.machine and k.agent = r.agent and k.session_id = r.session_id and k.place = r.place
),
moments as (
  select machine, agent, session_id, seq, timestamp as moment from messages
  union all
  select machine, agent, session_id, seq, started_at as moment from tool_calls
),
firsts as (
  select f.machine, f.agent, f.session_id, f.first_seq, min(m.moment) as moment
  from (select distinct machine, agent, session_id, first_seq from found) as f
  join moments m
    on m.machine = f.machine and m.agent = f.agent and m.session_id = f.session_id and m.seq = f.first_seq
  group by f.machine, f.agent, f.session_id, f.first_seq
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
  a.agent,
  a.session_id,
  project,
  started_at,
  severity,
  occurrences,
  case when wasted_tokens is not null
    then cast(greatest(0, least(own_tokens, spent_tokens - tokens_before)) as bigint) end as wasted_tokens,
  case when wasted_cost_usd is not null
    then cast(greatest(0, least(own_cost, spent_cost - cost_before)) as double) end as wasted_cost_usd,
  a.first_seq,
  last_seq,
  coalesce(f.moment, started_at) as first_at,
  evidence,
  explanation,
  basis,
  a.machine,
  wasted_cost_usd as alone_cost_usd,
  responses
from added a
left join firsts f
  on f.machine = a.machine and f.agent = a.agent and f.session_id = a.session_id and f.first_seq = a.first_seq
order by
  wasted_cost_usd desc nulls last,
  wasted_tokens desc nulls last,
  case severity when 'high' then 0 when 'medium' then 1 else 2 end,
  started_at desc nulls last,
  detector, a.agent, a.machine, a.session_id, a.first_seq
