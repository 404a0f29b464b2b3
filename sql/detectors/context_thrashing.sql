-- name: context_thrashing
-- title: Context compacted again and again
-- about: Sessions whose context was compacted min_in_window times with no more than window_minutes of active time from one
-- about: compaction to the next, or min_in_session times in all, unless the session is so long that these are less than
-- about: min_per_100_turns. Active time leaves out pauses of 5 minutes and more. Side conversations are judged apart.
-- about: It does not matter who asked for a compaction: a context that is full so often holds too much.
-- about: Wasted are, for each compaction after the first, the response that wrote its summary, where the agent records
-- about: one, and the first response after it, which pays for the new context from its first token on.
-- about: Severity by what was wasted, or by count: medium from 4 compactions on, high from 8.
-- param: min_in_window int = 2 -- Compactions close to each other that are thrashing. Count.
-- param: window_minutes int = 60 -- Active time from one compaction to the next that is close. Minutes.
-- param: min_in_session int = 3 -- Compactions of a whole session that are thrashing. Count.
-- param: min_per_100_turns float = 1.0 -- Least rate at which min_in_session counts. Compactions in 100 turns.
-- param: since timestamp = null -- Only sessions that started then or later.
-- param: until timestamp = null -- Only sessions that started before then.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.turns
  from sessions s
  where s.compactions >= least($min_in_window, $min_in_session)
    and ($since is null or s.started_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
steps as (
  select
    m.machine, m.agent, m.session_id, m.is_sidechain, m.seq, m.kind, m.message_id, m.response_id, c.turns,
    round((extract(epoch from m.timestamp) - extract(epoch from lag(m.timestamp) over (
      partition by m.machine, m.agent, m.session_id, m.is_sidechain order by m.seq
    ))) * 1e3) as pause_ms
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
),
timed as (
  select
    *,
    sum(case when pause_ms > 0 and pause_ms < 300000 then pause_ms else 0 end) over thread as active_ms,
    sum(case when kind = 'compaction' then 1 else 0 end) over thread as number,
    sum(case when kind = 'compaction' then 1 else 0 end) over (
      partition by machine, agent, session_id, is_sidechain
    ) as compactions
  from steps
  window thread as (
    partition by machine, agent, session_id, is_sidechain order by seq
    rows between unbounded preceding and current row
  )
),
-- The compaction, its summary and the first reply are what a compaction makes one pay for.
paid as (
  select
    *,
    sum(case when kind = 'reply' then 1 else 0 end) over (
      partition by machine, agent, session_id, is_sidechain, number order by seq
      rows between unbounded preceding and current row
    ) as reply
  from timed
  where number >= 1 and (kind in ('compaction', 'summary') or (kind = 'reply' and response_id is not null))
),
compacted as (
  select
    *,
    active_ms - lag(active_ms) over (
      partition by machine, agent, session_id, is_sidechain order by number
    ) as since_last_ms
  from paid
  where kind = 'compaction'
),
chained as (
  select
    machine, agent, session_id, is_sidechain, number, since_last_ms,
    case when compactions >= $min_in_session and compactions * 100.0 >= turns * $min_per_100_turns then 0 else sum(
      case when since_last_ms <= $window_minutes * 60000.0 then 0 else 1 end
    ) over (
      partition by machine, agent, session_id, is_sidechain order by number
      rows between unbounded preceding and current row
    ) end as episode,
    compactions >= $min_in_session and compactions * 100.0 >= turns * $min_per_100_turns as is_whole
  from compacted
),
costs as (
  select u.machine, u.agent, u.session_id, u.message_id, u.response_id, sum(u.total_tokens) as tokens, sum(u.cost_usd) as cost
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  group by u.machine, u.agent, u.session_id, u.message_id, u.response_id
),
episodes as (
  select
    machine, agent, session_id, is_sidechain, episode,
    bool_or(is_whole) as is_whole,
    min(number) as first_number,
    max(number) as last_number,
    count(*) as occurrences
  from chained
  group by machine, agent, session_id, is_sidechain, episode
),
closest as (
  select e.machine, e.agent, e.session_id, e.is_sidechain, e.episode, min(d.since_last_ms) as least_ms
  from episodes e
  join chained d
    on d.machine = e.machine and d.agent = e.agent and d.session_id = e.session_id
    and d.is_sidechain = e.is_sidechain and d.episode = e.episode
  where d.number > e.first_number
  group by e.machine, e.agent, e.session_id, e.is_sidechain, e.episode
),
spent as (
  select
    e.machine, e.agent, e.session_id, e.is_sidechain, e.episode,
    min(p.seq) as first_seq,
    max(p.seq) as last_seq,
    sum(case when p.number > e.first_number then k.tokens end) as wasted_tokens,
    sum(round(case when p.number > e.first_number then k.cost end * 1e9)) / 1e9 as wasted_cost_usd
  from episodes e
  join paid p
    on p.machine = e.machine and p.agent = e.agent and p.session_id = e.session_id and p.is_sidechain = e.is_sidechain
    and p.number >= e.first_number and p.number <= e.last_number and p.reply <= 1
    and (p.kind <> 'summary' or p.reply = 0)
  left join costs k
    on k.machine = p.machine and k.agent = p.agent and k.session_id = p.session_id
    and (k.response_id = p.response_id or (p.response_id is null and k.message_id = p.message_id))
  group by e.machine, e.agent, e.session_id, e.is_sidechain, e.episode
)
select
  'context_thrashing' as detector,
  e.agent,
  e.session_id,
  c.project,
  c.started_at,
  case when s.wasted_cost_usd >= 5 or e.occurrences >= 8 then 'high'
       when s.wasted_cost_usd >= 0.5 or e.occurrences >= 4 then 'medium'
       else 'low' end as severity,
  e.occurrences,
  s.wasted_tokens,
  s.wasted_cost_usd,
  s.first_seq,
  s.last_seq,
  cast(e.occurrences as text) || ' compactions in ' || cast(c.turns as text) || ' turn'
    || case when c.turns = 1 then ', ' else 's, ' end
    || cast(cast(floor(e.occurrences * 100.0 / greatest(c.turns, 1)) as bigint) as text) || ' per 100' as evidence,
  'The context was compacted ' || cast(e.occurrences as text) || ' times, at the closest '
    || case when n.least_ms < 60000 then 'less than a minute'
            when n.least_ms < 120000 then 'a minute'
            else cast(cast(floor(n.least_ms / 60000.0) as bigint) as text) || ' minutes' end
    || ' of work apart. Each time the agent forgets what it read and pays for its context anew: begin a new session for'
    || ' each task, and let it read less.' as explanation,
  'measured' as basis,
  e.machine
from episodes e
join chosen c on c.machine = e.machine and c.agent = e.agent and c.session_id = e.session_id
join closest n
  on n.machine = e.machine and n.agent = e.agent and n.session_id = e.session_id
  and n.is_sidechain = e.is_sidechain and n.episode = e.episode
join spent s
  on s.machine = e.machine and s.agent = e.agent and s.session_id = e.session_id
  and s.is_sidechain = e.is_sidechain and s.episode = e.episode
where e.is_whole or e.occurrences >= $min_in_window
order by s.wasted_cost_usd desc nulls last, e.occurrences desc, c.started_at, e.agent, e.machine, e.session_id, s.first_seq
