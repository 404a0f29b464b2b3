-- name: prompt_repetition
-- needs: prompts >= $min_prompts and not is_subagent
-- scope: session
-- title: The same prompt again
-- about: Prompts of the person that say nearly the same as one shortly before, although the agent had answered that one:
-- about: the answer did not help. Sketches of the prompts estimate how similar they are. Left out are short prompts
-- about: (`continue`, `commit it`), prompts that differ in a number (step 1, step 2), and prompts of subagents. Also left
-- about: out are texts that a person does not type: expanded skills and command templates, which have headings or tags,
-- about: or are very long. So are prompts whose turn ended in an error, an interruption or in the middle of the work, and
-- about: prompts on branches that the conversation left (see expensive_dead_ends).
-- about: The waste is the cost of the turns of all these prompts except the last. Severity is medium from 3 prompts on,
-- about: high from 6, or by the waste: medium from 0.5 USD on, high from 5.
-- todo: Say what was wrong with the answer, or rewind and ask differently.
-- habit: asking the same thing again
-- param: min_prompts int = 2 -- Fewest prompts that say nearly the same. Count.
-- param: min_alike float = 0.9 -- Lowest similarity of two prompts; 0.8 or more. Share of words and pairs of words.
-- param: min_words int = 8 -- Shortest prompt that counts. Words.
-- param: max_apart int = 3 -- Greatest distance of two prompts; 1 is the next one. Prompts.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at
  from sessions s
  where s.prompts >= $min_prompts
    and not s.is_subagent
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
places(place) as (
  values
    (1), (3), (5), (7), (9), (11), (13), (15), (17), (19), (21), (23), (25), (27), (29), (31),
    (33), (35), (37), (39), (41), (43), (45), (47), (49), (51), (53), (55), (57), (59), (61), (63)
),
prompts as (
  select
    m.machine, m.agent, m.session_id, m.seq, m.turn, m.text_sketch, substr(m.text, 1, 2001) as text,
    dense_rank() over (partition by m.machine, m.agent, m.session_id order by m.seq) as number
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.kind = 'prompt' and m.text_sketch is not null and not m.is_abandoned and not m.is_sidechain
),
-- A skill or a template begins with a tag, a heading or its settings, has headings, or is longer than what people type.
typed as (
  select *
  from prompts
  where length(text) <= 2000
    and regexp_replace(text, '^\s*(<|#|---|Base directory for this skill)|\n#+ |\$ARGUMENTS', '') = text
),
-- A prompt is compared with those of its own block of numbers and of the next one. A join on the session alone would
-- take time that grows with the square of its prompts.
blocks as (
  select *, number - number % greatest($max_apart, 1) as block from typed
),
earlier as (
  select *, block as later_block from blocks
  union all
  select *, block + greatest($max_apart, 1) as later_block from blocks
),
-- If 25 or more of 32 places are equal, at least one of 8 groups of places is equal.
pairs as (
  select
    a.machine, a.agent, a.session_id, a.seq as first_seq, b.seq as last_seq, a.turn, a.text_sketch as first_sketch,
    b.text_sketch as last_sketch, a.text as first_text, b.text as last_text
  from earlier a
  join blocks b
    on b.machine = a.machine and b.agent = a.agent and b.session_id = a.session_id and b.block = a.later_block
    and b.number > a.number and b.number <= a.number + $max_apart
  where (substr(a.text_sketch, 1, 8) = substr(b.text_sketch, 1, 8)
      or substr(a.text_sketch, 9, 8) = substr(b.text_sketch, 9, 8)
      or substr(a.text_sketch, 17, 8) = substr(b.text_sketch, 17, 8)
      or substr(a.text_sketch, 25, 8) = substr(b.text_sketch, 25, 8)
      or substr(a.text_sketch, 33, 8) = substr(b.text_sketch, 33, 8)
      or substr(a.text_sketch, 41, 8) = substr(b.text_sketch, 41, 8)
      or substr(a.text_sketch, 49, 8) = substr(b.text_sketch, 49, 8)
      or substr(a.text_sketch, 57, 8) = substr(b.text_sketch, 57, 8))
),
alike as (
  select
    machine, agent, session_id, first_seq, last_seq, turn,
    max(first_text) as text
  from pairs
  cross join places
  group by machine, agent, session_id, first_seq, last_seq, turn
  having sum(case when substr(first_sketch, place, 2) = substr(last_sketch, place, 2) then 1 else 0 end)
      >= 32 * $min_alike
    and length(trim(regexp_replace(max(first_text), '\s+', ' ', 'g'))) - length(regexp_replace(max(first_text), '\s+', '', 'g')) + 1 >= $min_words
    and regexp_replace(max(first_text), '[^0-9]+', ' ', 'g') = regexp_replace(max(last_text), '[^0-9]+', ' ', 'g')
),
-- The last record of the first prompt's turn has to be an answer.
answered as (
  select l.machine, l.agent, l.session_id, l.first_seq, l.last_seq, l.turn, max(l.text) as text
  from alike l
  join messages m
    on m.machine = l.machine and m.agent = l.agent and m.session_id = l.session_id and m.turn = l.turn
  where m.kind in ('reply', 'tool_result', 'api_error', 'abort')
  group by l.machine, l.agent, l.session_id, l.first_seq, l.last_seq, l.turn
  having not bool_or(m.kind = 'abort')
    and max(case
      when m.kind = 'reply' and not m.is_error
        and coalesce(m.stop_reason, '') not in ('tool_use', 'toolUse', 'tool-calls', 'tool_calls') then m.seq
    end) = max(m.seq)
),
joined as (
  select
    *,
    case when first_seq <= max(last_seq) over (
      partition by machine, agent, session_id order by first_seq, last_seq
      rows between unbounded preceding and 1 preceding
    ) then 0 else 1 end as is_start
  from answered
),
episodes as (
  select
    *,
    sum(is_start) over (
      partition by machine, agent, session_id order by first_seq, last_seq
      rows between unbounded preceding and current row
    ) as episode
  from joined
),
askings as (
  select machine, agent, session_id, episode, first_seq as seq, turn, text from episodes
  union all
  select machine, agent, session_id, episode, last_seq as seq, null as turn, null as text from episodes
),
asked as (
  select machine, agent, session_id, episode, seq, max(turn) as turn, max(text) as text
  from askings
  group by machine, agent, session_id, episode, seq
),
costs as (
  select u.machine, u.agent, u.session_id, u.turn, sum(u.total_tokens) as tokens, sum(round(u.cost_usd * 1e9)) as cost
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain in ('response', 'turn')
  group by u.machine, u.agent, u.session_id, u.turn
),
found as (
  select
    a.machine, a.agent, a.session_id, a.episode,
    count(*) as occurrences,
    min(a.seq) as first_seq,
    max(a.seq) as last_seq,
    sum(k.tokens) as wasted_tokens,
    sum(k.cost) / 1e9 as wasted_cost_usd,
    max(replace(substr(a.text, 1, 80), chr(10), ' ')) as text
  from asked a
  left join costs k
    on k.machine = a.machine and k.agent = a.agent and k.session_id = a.session_id and k.turn = a.turn
  group by a.machine, a.agent, a.session_id, a.episode
  having count(*) >= $min_prompts
),
billed as (
  select a.machine, a.agent, a.session_id, a.episode, array_sort(array_agg(u.response_id)) as responses
  from asked a
  join usage u
    on u.machine = a.machine and u.agent = a.agent and u.session_id = a.session_id and u.turn = a.turn
  where u.grain in ('response', 'turn')
  group by a.machine, a.agent, a.session_id, a.episode
)
select
  'prompt_repetition' as detector,
  f.agent,
  f.session_id,
  c.project,
  c.started_at,
  case when f.wasted_cost_usd >= 5 or f.occurrences >= 6 then 'high'
       when f.wasted_cost_usd >= 0.5 or f.occurrences >= 3 then 'medium'
       else 'low' end as severity,
  f.occurrences,
  f.wasted_tokens,
  f.wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  f.text as evidence,
  'You asked nearly the same ' || cast(f.occurrences as text) || ' times, so the earlier answers did not help. '
    || 'Say what is wrong with the answer, or rewind and ask differently.' as explanation,
  'measured' as basis,
  f.machine,
  b.responses
from found f
join chosen c on c.machine = f.machine and c.agent = f.agent and c.session_id = f.session_id
left join billed b
  on b.machine = f.machine and b.agent = f.agent and b.session_id = f.session_id and b.episode = f.episode
order by f.wasted_cost_usd desc nulls last, f.occurrences desc nulls last, c.started_at, f.agent, f.machine, f.session_id, f.first_seq
