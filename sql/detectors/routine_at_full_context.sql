-- name: routine_at_full_context
-- needs: total_tokens >= $min_context and kind = 'session'
-- scope: session
-- title: Commits and pushes with the whole conversation
-- about: Turns whose short prompt asks only for routine git work (commit, push, merge, rebase, tag, open a pull request),
-- about: that used git and edited no file (nor wrote one with a shell command), and that began with a context of
-- about: `min_context` or more. A question is no such prompt (`can you commit?` is), nor is one that begins with a noun
-- about: such as `commit message`. The turns of one session are one finding.
-- about: The waste is the cost of the context above `fresh_tokens` in each response, estimated from the response's own
-- about: cost. Severity is medium from 0.5 USD on, high from 5.
-- todo: Commit and push yourself, or in a new session with a cheaper model.
-- habit: commits and pushes with the whole conversation
-- param: min_context int = 100000 -- Shortest first request of a turn. Tokens.
-- param: max_words int = 15 -- Longest prompt. Words.
-- param: max_responses int = 15 -- Most responses of a turn; with more, it was no routine. Count.
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
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.total_tokens >= $min_context
    and s.kind = 'session'
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
    max(case when m.kind in ('prompt', 'command') then substr(m.text, 1, 400) end) as prompt,
    sum(case when m.kind in ('prompt', 'command') then 1 else 0 end) as prompts,
    bool_or(m.is_abandoned) as is_abandoned,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.turn is not null and not m.is_sidechain
  group by c.number, m.turn
),
work as (
  select
    number, turn,
    bool_or(category in ('edit', 'write', 'task')
      or regexp_replace(unquoted, 'apply_patch|sed -i|tee | >>? *[^/&> \n]', '') <> unquoted) as has_worked,
    bool_or(mcp_server like '%git%' or regexp_replace(command, '[ ;&|(](git|gh|glab|jj) ', '') <> command) as has_git
  from (
    select
      c.number, t.turn, t.category, t.mcp_server,
      case when t.category = 'shell' then ' ' || substr(t.command, 1, 2000) else '' end as command,
      -- Text in quotes, such as the message of a commit, writes nothing.
      case
        when t.category = 'shell' then regexp_replace(substr(t.command, 1, 2000), '"[^"]*"|''[^'']*''', '', 'g')
        else ''
      end as unquoted
    from tool_calls t
    join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
    where t.turn is not null
  ) as calls
  group by number, turn
),
chosen_turns as (
  select p.number, p.turn, p.prompt, p.first_seq, p.last_seq, s.opening
  from prompts p
  join spent s on s.number = p.number and s.turn = p.turn
  join work w on w.number = p.number and w.turn = p.turn
  where p.prompts = 1
    and not p.is_abandoned
    and not w.has_worked
    and w.has_git
    and s.opening >= $min_context
    and s.responses <= $max_responses
    and length(trim(regexp_replace(p.prompt, '\s+', ' ', 'g'))) - length(regexp_replace(p.prompt, '\s+', '', 'g')) + 1 <= $max_words
    and (
      trim(regexp_replace(p.prompt, '\s+', ' ', 'g')) not like '%?'
      or regexp_replace(lower(trim(p.prompt)), '^(please )?(can|could) you ', '') <> lower(trim(p.prompt))
    )
    and regexp_replace(
      -- Names that begin with one of the verbs are nouns.
      regexp_replace(
        lower(trim(p.prompt)),
        '(commit|merge|push|tag|rebase) (messages?|hash(es)?|histor(y|ies)|hooks?|sort|conflicts?|notifications?|names?'
          || '|[a-f]*[0-9][0-9a-f]{3,}|[0-9a-f]{4,}[0-9])([^a-z0-9]|$)',
        'noun ', 'g'
      ),
      '^/?((ok|okay|yes|yeah|yep|great|good|perfect|nice|cool|thanks|thank you|now|please|pls|and|then|also|next|can you|could you'
        || '|lets|let.s|go ahead and|looks good|lgtm|just|well done)[ ,.!:;-]*)*(git )?'
        || '(commit|push|merge|rebase|squash|tag|stage|amend'
        || '|(open|create|make|submit|raise|file|draft|update) (a |the |an |another )?(new |draft )?(pr|pull request|merge request|mr))'
        || '([^a-z][\s\S]*)?$',
      ''
    ) = ''
),
carried as (
  select
    t.number, t.turn, t.first_seq, t.last_seq, t.prompt, r.response_id, t.opening,
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
  having sum(tokens) >= $min_carried
)
select
  'routine_at_full_context' as detector,
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
  case when f.occurrences = 1 then 'A turn' else cast(f.occurrences as text) || ' turns' end
    || ' that only worked with git carried a context of up to '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.opening as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' tokens through '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.requests as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || case when f.requests = 1 then ' response' else ' responses' end
    || '. Run git yourself, leave it to a subagent or to a new conversation, or compact before it.' as explanation,
  'estimated' as basis,
  c.machine,
  f.responses
from found f
join chosen c on c.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
