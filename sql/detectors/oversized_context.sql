-- name: oversized_context
-- needs: total_tokens >= $min_context and kind = 'session'
-- scope: session
-- title: Small tasks in a large, unrelated context
-- about: Turns that began with a context of `min_context` or more, did little, and had nothing to do with what came
-- about: before. The prompt of such a turn has `min_words` words, and no word that refers back (such as it,
-- about: this, same, also). The turn reads files, and works on no file in an area of the project that an earlier turn of
-- about: the session worked on. An area is the first two names of a path below the project's folder.
-- about: A session is reported if it has `min_turns` such turns, or one that began after a pause of `min_rest`. The turns
-- about: of one session are one finding. Left out are agents that read files only with shell commands, which do not name
-- about: the files, and routine git work (see routine_at_full_context).
-- about: The waste is the cost of the context above `fresh_tokens` in each response, estimated from the response's own
-- about: cost. Severity is medium from 0.5 USD on, high from 5.
-- todo: Start a new session for a new task.
-- habit: small tasks in a large, unrelated context
-- param: min_context int = 150000 -- Shortest first request of a turn. Tokens.
-- param: max_responses int = 15 -- Most responses of a small turn. Count.
-- param: max_growth int = 20000 -- Most tokens that a small turn adds to the context. Tokens.
-- param: min_words int = 6 -- Fewest words of a prompt that stands alone. Count.
-- param: min_turns int = 2 -- Fewest such turns of a session. Count.
-- param: min_rest int = 30 -- Shortest pause after which one such turn is enough. Minutes.
-- param: fresh_tokens int = 20000 -- Context that the same turn needs in a new conversation. Tokens.
-- param: min_carried int = 300000 -- Fewest context tokens above fresh_tokens in all such responses of a session. Tokens.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    coalesce(replace(s.project_path, chr(92), '/') || '/', '//') as below,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.total_tokens >= $min_context
    and s.kind = 'session'
    and s.turns >= 2
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
requests as (
  select
    c.number, u.turn, u.response_id, u.cost_usd,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) + coalesce(u.cache_write_5m_tokens, 0)
      + coalesce(u.cache_write_1h_tokens, 0) as context,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) * $read_price
      + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
      + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price as input_units,
    coalesce(u.output_tokens, 0) * $output_price as output_units,
    row_number() over (partition by c.number, u.turn order by u.timestamp, u.source_line, u.response_id) as place
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response' and u.turn is not null and not u.is_sidechain
),
spent as (
  select
    number, turn,
    count(*) as responses,
    max(case when place = 1 then context end) as opening,
    max(context) as largest
  from requests
  group by number, turn
),
prompts as (
  select
    c.number, m.turn,
    max(case when m.kind = 'prompt' then substr(m.text, 1, 4000) end) as prompt,
    bool_or(m.is_abandoned) as is_abandoned,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq,
    min(m.timestamp) as began_at,
    max(m.timestamp) as ended_at
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.turn is not null and not m.is_sidechain
  group by c.number, m.turn
),
rests as (
  select
    *,
    (extract(epoch from began_at) - extract(epoch from lag(ended_at) over (partition by number order by turn))) / 60 as rest
  from prompts
),
named as (
  select
    c.number, t.turn, t.category,
    regexp_replace(
      replace(replace(t.file_path, chr(92), '/'), c.below, ''), '^(/?[^/]*/[^/]*)/.*$', '\1'
    ) as area
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.file_path is not null and t.turn is not null and t.status = 'ok'
),
areas as (
  select
    number, turn, category,
    min(turn) over (partition by number, area) as first_turn,
    min(turn) over (partition by number) as first_of_all
  from named
),
files as (
  select
    number, turn,
    bool_and(first_turn = turn and turn > first_of_all) as is_new,
    bool_or(category = 'read') as has_read
  from areas
  group by number, turn
),
chosen_turns as (
  select p.number, p.turn, p.prompt, p.first_seq, p.last_seq, p.rest, s.opening
  from rests p
  join spent s on s.number = p.number and s.turn = p.turn
  join files f on f.number = p.number and f.turn = p.turn
  where not p.is_abandoned
    and f.is_new
    and f.has_read
    and s.opening >= $min_context
    and s.responses <= $max_responses
    and s.largest - s.opening <= $max_growth
    and length(trim(regexp_replace(p.prompt, '\s+', ' ', 'g'))) - length(regexp_replace(p.prompt, '\s+', '', 'g')) + 1 >= $min_words
    and regexp_replace(
      ' ' || lower(p.prompt) || ' ',
      '[^a-z](it|its|this|that|these|those|them|they|same|again|also|too|above|previous|earlier|before|instead|continue|still'
        || '|you (just|did|made|added|wrote|changed)|we (just|did|made|added|changed)|our changes|your changes)[^a-z]',
      ''
    ) = ' ' || lower(p.prompt) || ' '
),
carried as (
  select
    t.number, t.turn, t.first_seq, t.last_seq, t.prompt, t.rest, r.response_id, t.opening,
    least(t.opening, r.context) - $fresh_tokens as tokens,
    round(
      r.cost_usd * r.input_units / (r.input_units + r.output_units)
        * ((least(t.opening, r.context) - $fresh_tokens) / cast(r.context as double)) * 1e9
    ) as nanos
  from chosen_turns t
  join requests r on r.number = t.number and r.turn = t.turn
  where r.context > $fresh_tokens
),
found as (
  select
    number,
    count(distinct turn) as occurrences,
    count(*) as requests,
    max(opening) as opening,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq,
    max(case when first_seq = first_of_all then replace(substr(prompt, 1, 80), chr(10), ' ') end) as prompt,
    sum(tokens) as wasted_tokens,
    sum(nanos) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(response_id)) as responses
  from (select *, min(first_seq) over (partition by number) as first_of_all from carried) as ordered
  group by number
  having sum(tokens) >= $min_carried and (count(distinct turn) >= $min_turns or max(rest) >= $min_rest)
)
select
  'oversized_context' as detector,
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
  f.prompt || case when f.occurrences = 1 then '' else ', and ' || cast(f.occurrences - 1 as text) || ' more' end
    || ': up to ' || regexp_replace(reverse(regexp_replace(reverse(cast(f.opening as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' tokens of context' as evidence,
  case when f.occurrences = 1 then 'A small task' else cast(f.occurrences as text) || ' small tasks' end
    || ' about other files carried a context of up to '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.opening as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' tokens through '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.requests as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || case when f.requests = 1 then ' response' else ' responses' end
    || '. Begin a new conversation for a new task (`/clear`, `/new`), or leave small ones to a subagent.' as explanation,
  'estimated' as basis,
  c.machine,
  f.responses
from found f
join chosen c on c.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
