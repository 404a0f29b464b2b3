-- name: long_thinking_pauses
-- needs: responses > 0
-- scope: session
-- title: Slow responses with little text
-- about: Responses that took longer than `min_seconds` with fewer output tokens per second (including hidden reasoning)
-- about: than `max_tokens_per_second`: the service was slow or hung. A finding is a turn with such responses.
-- about: The time is what the agent recorded. If it recorded none, the time runs from the preceding prompt or tool result
-- about: to the response's first record; a time over `max_minutes` then means that the machine slept. Left out are
-- about: responses of which only a running count of the output was recorded, and those whose time may contain a tool or
-- about: the wait for a person's approval. These are calls recorded at the same moment as their result, calls that ask for
-- about: more permissions, and shell calls of OpenCode and Kilo Code, which record when a command last wrote, not when it
-- about: began.
-- about: The person loses time, not money, so tokens and cost are null.
-- about: Severity depends on the time lost in a turn: medium from 3 minutes on, high from 10.
-- todo: Try another model or another hour.
-- habit: waiting for slow responses
-- param: min_seconds int = 60 -- Longest time of a response that is not long. Seconds.
-- param: max_tokens_per_second float = 5.0 -- Speed below which it is slow. Output tokens a second.
-- param: max_minutes int = 30 -- Longest time that counts if the agent recorded none. Minutes.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.responses > 0
    and extract(epoch from s.ended_at) - extract(epoch from s.started_at) >= $min_seconds
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
steps as (
  select
    c.number, m.is_sidechain, m.seq, m.turn, m.kind, m.response_id,
    round((extract(epoch from m.timestamp) - extract(epoch from lag(m.timestamp) over thread)) * 1e3) as waited_ms,
    lag(m.kind in ('prompt', 'command', 'tool_result')) over thread as is_answer
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind in ('prompt', 'command', 'tool_result', 'reply', 'abort', 'api_error', 'compaction', 'summary')
  window thread as (partition by c.number, m.is_sidechain order by m.seq)
),
waits as (
  select number, is_sidechain, response_id, min(turn) as turn, min(seq) as seq, max(waited_ms) as waited_ms
  from steps
  where kind = 'reply'
    and is_answer
    and waited_ms > $min_seconds * 1000.0
    and waited_ms <= $max_minutes * 60000.0
  group by number, is_sidechain, response_id
),
-- Most responses have no recorded duration, and nobody waited for them.
long_responses as (
  select c.number, u.response_id, max(u.model) as model, max(u.duration_ms) as duration_ms,
    sum(u.output_tokens) as output_tokens
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  left join (select distinct number, response_id from waits) w on w.number = c.number and w.response_id = u.response_id
  where u.grain = 'response'
    and not u.is_partial
    and u.output_tokens is not null
    and (u.duration_ms > $min_seconds * 1000.0 or (u.duration_ms is null and w.number is not null))
  group by c.number, u.response_id
),
recorded as (
  select c.number, m.is_sidechain, m.response_id, min(m.turn) as turn, min(m.seq) as seq
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  join long_responses l on l.number = c.number and l.response_id = m.response_id and l.duration_ms is not null
  where m.kind = 'reply'
  group by c.number, m.is_sidechain, m.response_id
),
-- Responses whose time may contain a tool or an approval: some versions of Codex record a call only after it ran.
unclear as (
  select c.number, t.response_id, bool_or(c.agent in ('opencode', 'kilo-code')) as is_recorded_wrong
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  join long_responses l on l.number = c.number and l.response_id = t.response_id
  where t.started_at = t.ended_at
    or substr(t.input, 1, 4000) like '%require_escalated%'
    or substr(t.input, 1, 4000) like '%with_escalated_permissions%'
    or (c.agent in ('opencode', 'kilo-code') and t.category = 'shell')
  group by c.number, t.response_id
),
pauses as (
  select r.number, r.is_sidechain, r.turn, r.seq, l.model, l.output_tokens, l.duration_ms * 1.0 as ms, true as is_recorded
  from recorded r
  join long_responses l on l.number = r.number and l.response_id = r.response_id
  left join unclear n on n.number = r.number and n.response_id = r.response_id
  where not coalesce(n.is_recorded_wrong, false)
  union all
  select w.number, w.is_sidechain, w.turn, w.seq, l.model, l.output_tokens, w.waited_ms as ms, false as is_recorded
  from waits w
  join long_responses l on l.number = w.number and l.response_id = w.response_id
  left join unclear n on n.number = w.number and n.response_id = w.response_id
  where l.duration_ms is null and n.number is null
),
turns as (
  select
    number, is_sidechain, turn,
    count(*) as occurrences,
    sum(ms) as ms,
    max(model) as model,
    max(ms) as longest_ms,
    sum(output_tokens) as output_tokens,
    min(seq) as first_seq,
    max(seq) as last_seq,
    bool_and(is_recorded) as is_recorded
  from pauses
  where output_tokens * 1000.0 < ms * $max_tokens_per_second
  group by number, is_sidechain, turn
)
select
  'long_thinking_pauses' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when t.ms >= 600000 then 'high' when t.ms >= 180000 then 'medium' else 'low' end as severity,
  t.occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  t.first_seq,
  t.last_seq,
  coalesce(t.model || ', ', '') || 'the longest ' || cast(cast(floor(t.longest_ms / 1000.0) as bigint) as text) || ' s'
    as evidence,
  case when t.occurrences = 1 then 'A response of this turn' else cast(t.occurrences as text) || ' responses of this turn' end
    || ' took '
    || regexp_replace(reverse(regexp_replace(reverse(cast(cast(floor(t.ms / 1000.0) as bigint) as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' seconds and brought '
    || regexp_replace(reverse(regexp_replace(reverse(cast(t.output_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tokens. The service was slow or hung. Interrupt such a response and ask again; if it happens often, try another '
    || 'model or provider.' as explanation,
  case when t.is_recorded then 'measured' else 'estimated' end as basis,
  c.machine
from turns t
join chosen c on c.number = t.number
order by wasted_cost_usd desc nulls last, t.ms desc nulls last, c.started_at, c.agent, c.machine, c.session_id, t.first_seq
