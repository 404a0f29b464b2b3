-- name: aborted_turns
-- needs: aborts >= 1 and not is_subagent
-- scope: session
-- title: Turns stopped before they changed anything
-- about: Turns that the person or an error ended early, before the agent edited or wrote a file, changed a repository
-- about: (committed, merged, pushed), or changed files with a shell command. The turns of one session are one finding.
-- about: Left out are subagents, and turns whose next prompt only says to go on (what was read stays in use). Also left
-- about: out are turns in which the agent said more than `max_said` (the person answers that) or the person declined a
-- about: call (see permission_friction), and turns on branches that the conversation left (see expensive_dead_ends).
-- about: The waste is the cost of all responses of these turns. Severity is medium from 0.5 USD on, high from 5.
-- todo: Say what is wrong in the next prompt instead of starting over. Ask for a plan before long work.
-- habit: turns stopped before they changed anything
-- param: min_responses int = 3 -- Fewest responses of a stopped turn. Count.
-- param: max_said int = 500 -- Longest text of the agent in a turn. Characters.
-- param: min_tokens int = 100000 -- Fewest tokens that the stopped turns of a session used. Tokens.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.aborts >= 1
    and not s.is_subagent
    and s.total_tokens >= $min_tokens
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
turns as (
  select
    c.number, m.turn,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq,
    max(case when m.kind = 'prompt' then replace(substr(m.text, 1, 80), chr(10), ' ') end) as prompt,
    bool_or(m.kind = 'abort') as is_aborted,
    sum(case when m.role = 'assistant' then length(m.text) else 0 end) as said,
    bool_or(m.is_abandoned) as is_abandoned
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.turn is not null and not m.is_sidechain
  group by c.number, m.turn
),
followed as (
  select
    *,
    lower(trim(coalesce(lead(prompt) over (partition by number order by turn), ''))) as next_prompt
  from turns
),
changes as (
  select
    c.number, t.turn,
    bool_or(t.status = 'rejected' or (t.status = 'ok' and (
      t.category in ('edit', 'write')
      or array_length(t.git_operations) >= 1
      or (t.category = 'shell' and regexp_replace(
        ' ' || substr(t.command, 1, 2000),
        'apply_patch|sed -i|cat *>|tee |[^0-9&<>=-]>>? *[^/&> ]|[ ;&|](mv|cp|rm|mkdir) ',
        ''
      ) <> ' ' || substr(t.command, 1, 2000))
    ))) as has_changed
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.turn is not null
  group by c.number, t.turn
),
costs as (
  select
    f.number, f.turn, f.first_seq, f.last_seq, f.prompt, u.response_id, u.total_tokens, u.cost_usd,
    count(*) over (partition by f.number, f.turn) as responses
  from followed f
  join chosen c on c.number = f.number
  join usage u on u.machine = c.machine and u.agent = c.agent and u.session_id = c.session_id and u.turn = f.turn
  left join changes k on k.number = f.number and k.turn = f.turn
  where f.is_aborted
    and not f.is_abandoned
    and coalesce(f.said, 0) <= $max_said
    and not coalesce(k.has_changed, false)
    and u.grain = 'response'
    and regexp_replace(
      f.next_prompt,
      '^((ok|okay|yes|sorry|please|no)[ ,.!]*)*(continue|go on|go ahead|proceed|keep going|carry on|resume|try again)'
        || '( with (it|that|the [a-z]+)|( from)? where you (left off|stopped)| from there)?([ ,.!]|please|now|thanks)*$',
      ''
    ) = f.next_prompt
),
found as (
  select
    number,
    count(distinct turn) as occurrences,
    count(*) as responses,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq,
    max(case when first_seq = first_of_all then prompt end) as prompt,
    sum(total_tokens) as wasted_tokens,
    sum(round(cost_usd * 1e9)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(response_id)) as responses_wasted
  from (
    select *, min(first_seq) over (partition by number) as first_of_all from costs where responses >= $min_responses
  ) as stopped
  group by number
  having sum(total_tokens) >= $min_tokens
)
select
  'aborted_turns' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when f.wasted_cost_usd >= 5 then 'high' when f.wasted_cost_usd >= 0.5 then 'medium' else 'low' end as severity,
  f.occurrences,
  f.wasted_tokens,
  f.wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  coalesce(f.prompt, 'a turn without a prompt')
    || case when f.occurrences = 1 then '' else ', and ' || cast(f.occurrences - 1 as text) || ' more' end as evidence,
  case when f.occurrences = 1 then 'A turn was' else cast(f.occurrences as text) || ' turns were' end
    || ' stopped before anything had changed, after ' || regexp_replace(reverse(regexp_replace(reverse(cast(f.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when f.responses = 1 then ' response' else ' responses' end || '. Say in the prompt which files and which way you have in mind, or ask for a plan first; then rewind to '
    || 'before the prompt, so that what led nowhere does not stay in the context.' as explanation,
  'measured' as basis,
  c.machine,
  f.responses_wasted as responses
from found f
join chosen c on c.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
