-- name: limit_hits
-- title: Requests that a used-up limit refused
-- group: Limits -- also limits
-- about: Each message that says that a plan or budget was used up, newest first, with what the agent had cost on the machine
-- about: before it and the time until the agent answered again.
-- note: The list is not complete: hits on other machines are not in the files, and some agents do not record hits. One limit
-- note: may refuse several requests.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: hit_at -- When the request was refused.
-- column: machine -- Machine.
-- column: agent -- Coding agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: session_id -- Session that holds the message.
-- column: message -- What the agent said, often with the time of the reset; null if the lake holds no texts.
-- column: cost_5h_usd -- List price of the agent's responses on this machine in the 5 hours before; null if none has a price. USD.
-- column: cost_7d_usd -- The same in the 7 days before. USD.
-- column: minutes_to_next -- Time until the agent's next response in any session of the machine; null if there is none. Minutes.
-- show: hit_at, agent, project, minutes_to_next as pause, cost_5h_usd as last 5 h, cost_7d_usd as last 7 d,
-- show: session_id, message, machine
with events as (
  select
    m.machine, m.agent, m.session_id, m.seq, extract(epoch from m.timestamp) as moment, 1 as is_hit,
    cast(null as double) as nanos
  from messages m
  where m.error_type = 'usage_limit' and m.timestamp is not null
  union all
  select
    u.machine, u.agent, u.session_id, cast(null as bigint), extract(epoch from u.timestamp), 0,
    round(u.list_cost_usd * 1e9)
  from usage u
  join (select distinct machine, agent from messages where error_type = 'usage_limit') h
    on h.machine = u.machine and h.agent = u.agent
  where u.timestamp is not null
),
spent as (
  select
    e.*,
    sum(e.nanos) over (
      partition by e.machine, e.agent order by e.moment asc nulls last range between 18000 preceding and current row
    ) / 1e9 as cost_5h_usd,
    sum(e.nanos) over (
      partition by e.machine, e.agent order by e.moment asc nulls last range between 604800 preceding and current row
    ) / 1e9 as cost_7d_usd,
    min(case when e.is_hit = 0 then e.moment end) over (
      partition by e.machine, e.agent order by e.moment desc nulls last, e.is_hit asc nulls last
      rows between unbounded preceding and current row
    ) as next_moment
  from events e
)
select
  m.timestamp as hit_at,
  m.machine,
  m.agent,
  s.project,
  m.session_id,
  substr(m.text, 1, 200) as message,
  e.cost_5h_usd,
  e.cost_7d_usd,
  round((e.next_moment - e.moment) / 60.0, 1) as minutes_to_next
from spent e
join messages m on m.machine = e.machine and m.agent = e.agent and m.session_id = e.session_id and m.seq = e.seq
join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
where e.is_hit = 1
  and ($since is null or m.timestamp >= $since)
  and ($until is null or m.timestamp < $until)
  and ($project is null or s.project = $project)
  and ($agent is null or m.agent = $agent)
order by m.timestamp desc nulls last, m.machine, m.agent, m.session_id, m.seq
