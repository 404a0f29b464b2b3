-- name: context_thrashing
-- needs: compactions >= 1
-- scope: session
-- title: Context compacted again and again
-- about: Sessions whose context was compacted often: `min_in_window` times with at most `window_minutes` of active time
-- about: from one compaction to the next, or `min_in_session` times in all and `min_per_100_turns` times in 100 turns.
-- about: Active time excludes pauses of 5 minutes and more. Side conversations are judged separately. A compaction that
-- about: the person asked for with /compact does not count: people do so between two tasks.
-- about: The waste is the cost, for each compaction after the first, of the response that wrote its summary (if the agent
-- about: records one) and of the first response after it, which pays for the new context from its first token on.
-- about: Severity depends on the waste or the count: medium from 0.5 USD or 4 compactions on, high from 5 USD or 8.
-- todo: Split the task, or start a new session after a compaction. Keep large outputs out of the context.
-- habit: sessions that ran until they were compacted repeatedly
-- param: min_in_window int = 2 -- Fewest compactions close to each other. Count.
-- param: window_minutes int = 60 -- Most active time between compactions that are close. Minutes.
-- param: min_in_session int = 3 -- Fewest compactions of a whole session. Count.
-- param: min_per_100_turns float = 1.0 -- Lowest rate at which min_in_session counts. Compactions in 100 turns.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.turns,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.compactions >= least($min_in_window, $min_in_session)
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
-- Compactions next to the command that asked for them. Some agents record the command after the compaction.
asked as (
  select number, seq
  from (
    select
      number, seq, kind,
      coalesce(lag(is_command) over thread, false) or coalesce(lead(is_command) over thread, false) as is_asked
    from (
      select
        c.number, m.is_sidechain, m.seq, m.kind,
        m.kind = 'command' and coalesce(substr(m.text, 1, 200) like '%/compact%', false) as is_command
      from messages m
      join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
      where m.kind in ('prompt', 'command', 'reply', 'compaction')
    ) as spoken
    window thread as (partition by number, is_sidechain order by seq)
  ) as compactions
  where kind = 'compaction' and is_asked
),
steps as (
  select
    c.number, m.is_sidechain, m.seq, c.turns, m.timestamp is not null as is_timed, m.message_id, m.response_id,
    m.kind in ('compaction', 'summary', 'reply') as may_cost,
    case when a.seq is null then m.kind else 'command' end as kind,
    round((extract(epoch from m.timestamp) - extract(epoch from lag(m.timestamp) over (
      partition by c.number, m.is_sidechain order by m.seq
    ))) * 1e3) as pause_ms
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  left join asked a on a.number = c.number and a.seq = m.seq
),
timed as (
  select
    *,
    sum(case when pause_ms > 0 and pause_ms < 300000 then pause_ms else 0 end) over thread as active_ms,
    sum(case when kind = 'compaction' then 1 else 0 end) over thread as piece
  from steps
  window thread as (
    partition by number, is_sidechain order by seq rows between unbounded preceding and current row
  )
),
-- Each compaction with the end of the records that it adds to the bill: its summary and the first reply.
compacted as (
  select
    number, is_sidechain, piece,
    min(turns) as turns,
    min(case when kind = 'compaction' then seq end) as first_seq,
    min(case when kind = 'compaction' and is_timed then active_ms end) as active_ms,
    coalesce(
      min(case when kind = 'reply' then seq end),
      max(case when kind in ('compaction', 'summary') then seq end)
    ) as last_seq
  from timed
  where piece >= 1
  group by number, is_sidechain, piece
),
spaced as (
  select
    *,
    active_ms - lag(active_ms) over (partition by number, is_sidechain order by piece) as since_last_ms,
    count(*) over (partition by number, is_sidechain) >= $min_in_session
      and count(*) over (partition by number, is_sidechain) * 100.0 >= turns * $min_per_100_turns as is_whole
  from compacted
),
chained as (
  select
    *,
    case when is_whole then 0 else sum(case when since_last_ms <= $window_minutes * 60000.0 then 0 else 1 end) over (
      partition by number, is_sidechain order by piece rows between unbounded preceding and current row
    ) end as episode
  from spaced
),
placed as (
  select *, row_number() over (partition by number, is_sidechain, episode order by piece) as place
  from chained
),
episodes as (
  select
    number, is_sidechain, episode,
    count(*) as occurrences,
    min(case when place > 1 then since_last_ms end) as least_ms,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq
  from placed
  group by number, is_sidechain, episode
  having bool_or(is_whole) or count(*) >= $min_in_window
),
-- Usage of these records: responses, and summaries that have only a message id.
paid as (
  select distinct
    c.machine, c.agent, c.session_id, p.is_sidechain, p.episode, t.response_id,
    case when t.response_id is null then t.message_id end as message_id
  from placed p
  join timed t
    on t.number = p.number and t.is_sidechain = p.is_sidechain and t.piece = p.piece and t.seq <= p.last_seq
  join chosen c on c.number = p.number
  where p.place > 1 and t.may_cost
),
costs as (
  select p.machine, p.agent, p.session_id, p.is_sidechain, p.episode, u.response_id, u.total_tokens, u.cost_usd
  from paid p
  join usage u
    on u.machine = p.machine and u.agent = p.agent and u.session_id = p.session_id and u.response_id = p.response_id
  union all
  select p.machine, p.agent, p.session_id, p.is_sidechain, p.episode, u.response_id, u.total_tokens, u.cost_usd
  from paid p
  join usage u
    on u.machine = p.machine and u.agent = p.agent and u.session_id = p.session_id and u.message_id = p.message_id
),
spent as (
  select
    machine, agent, session_id, is_sidechain, episode,
    sum(total_tokens) as tokens,
    sum(round(cost_usd * 1e9)) / 1e9 as cost,
    array_sort(array_agg(distinct response_id)) as responses
  from costs
  group by machine, agent, session_id, is_sidechain, episode
)
select
  'context_thrashing' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when k.cost >= 5 or e.occurrences >= 8 then 'high'
       when k.cost >= 0.5 or e.occurrences >= 4 then 'medium'
       else 'low' end as severity,
  e.occurrences,
  k.tokens as wasted_tokens,
  k.cost as wasted_cost_usd,
  e.first_seq,
  e.last_seq,
  cast(e.occurrences as text) || ' compactions in '
    || regexp_replace(reverse(regexp_replace(reverse(cast(c.turns as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when c.turns = 1 then ' turn, ' else ' turns, ' end
    || cast(cast(floor(e.occurrences * 100.0 / greatest(c.turns, 1)) as bigint) as text) || ' per 100' as evidence,
  'The context was compacted ' || cast(e.occurrences as text) || case when e.occurrences = 1 then ' time' else ' times' end
    || case when e.least_ms is null then '.'
            when e.least_ms < 60000 then ', at the closest less than a minute of work apart.'
            when e.least_ms < 120000 then ', at the closest a minute of work apart.'
            else ', at the closest '
              || regexp_replace(reverse(regexp_replace(reverse(cast(cast(floor(e.least_ms / 60000.0) as bigint) as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
              || ' minutes of work apart.' end
    || ' Each time the agent forgets what it read and pays for its context anew. Start a new session for each task,'
    || ' and have large files and outputs read in parts.' as explanation,
  'measured' as basis,
  c.machine,
  k.responses
from episodes e
join chosen c on c.number = e.number
left join spent k
  on k.machine = c.machine and k.agent = c.agent and k.session_id = c.session_id
  and k.is_sidechain = e.is_sidechain and k.episode = e.episode
order by k.cost desc nulls last, e.occurrences desc nulls last, c.started_at, c.agent, c.machine, c.session_id, e.first_seq
