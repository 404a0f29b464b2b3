-- name: overqualified_model
-- needs: cost_usd >= $min_wasted_usd and kind = 'session'
-- title: The most expensive model for prose and routine
-- about: Turns that a model of `min_price` or more answered, and that a cheaper one does as well: they edited only prose
-- about: (README, changelog and other texts), or did routine git work that a short prompt asked for. The turns of one
-- about: session are one finding. Left out are plans, designs, specifications and instructions for agents, which are worth
-- about: a good model, and turns of more than `max_responses` responses. The detector cannot know how hard a text was. It
-- about: guesses, so it runs only when you name it.
-- about: The waste is the cost of these responses above the price of the cheaper model, estimated from the tokens.
-- about: Severity is medium from 0.5 USD on, high from 5.
-- todo: Use a cheaper model for texts and for git work.
-- habit: an expensive model for prose and routine
-- default: off
-- param: min_price float = 4.5 -- Lowest price of an uncached input token of an expensive model. USD per million tokens.
-- param: other_price float = 3 -- Price of an uncached input token of the cheaper model. USD per million tokens.
-- param: max_responses int = 10 -- Most responses of a turn. Count.
-- param: max_words int = 15 -- Longest prompt for routine work. Words.
-- param: min_wasted_usd float = 0.1 -- Lowest waste of a session. USD.
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
  where s.cost_usd >= $min_wasted_usd
    and s.kind = 'session'
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
requests as (
  select
    c.number, u.turn, u.response_id, u.model, u.total_tokens, u.cost_usd,
    coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) * $read_price
      + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
      + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price
      + coalesce(u.output_tokens, 0) * $output_price as units
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response' and u.turn is not null and not u.is_sidechain and u.total_tokens > 0
),
models as (
  select
    model,
    sum(round(cost_usd * 1e9)) / 1e3 / sum(case when cost_usd is not null then units end) as price
  from requests
  where units > 0
  group by model
),
spent as (
  select r.number, r.turn, count(*) as responses, min(m.price) as least_price
  from requests r
  left join models m on m.model = r.model
  group by r.number, r.turn
),
prompts as (
  select
    c.number, m.turn,
    max(case when m.kind in ('prompt', 'command') then substr(m.text, 1, 400) end) as prompt,
    bool_or(m.is_abandoned) as is_abandoned,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where m.turn is not null and not m.is_sidechain
  group by c.number, m.turn
),
calls as (
  select
    c.number, t.turn, t.category, lower(coalesce(t.file_path, '')) as path,
    t.mcp_server like '%git%' or (t.category = 'shell' and regexp_replace(
      ' ' || substr(t.command, 1, 2000), '[ ;&|(](git|gh|glab|jj) ', ''
    ) <> ' ' || substr(t.command, 1, 2000)) as is_git
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.turn is not null
),
work as (
  select
    number, turn,
    sum(case when category in ('edit', 'write') then 1 else 0 end) as edits,
    bool_or(category = 'task') as has_delegated,
    bool_or(is_git) as has_git,
    bool_and(category not in ('edit', 'write') or (
      regexp_replace(path, '([.](md|mdx|txt|rst|adoc)|/(readme|changelog|license|notice|authors))$', '') <> path
      and regexp_replace(path, 'plan|design|spec|rfc|adr|architect|prompt|agents|claude|gemini|skill|rules|todo|requirement', '')
        = path
    )) as is_prose
  from calls
  group by number, turn
),
chosen_turns as (
  select p.number, p.turn, p.prompt, p.first_seq, p.last_seq, w.edits
  from prompts p
  join spent s on s.number = p.number and s.turn = p.turn
  join work w on w.number = p.number and w.turn = p.turn
  where not p.is_abandoned
    and not w.has_delegated
    and w.is_prose
    and s.least_price >= $min_price
    and s.responses <= $max_responses
    and (
      w.edits > 0
      or (
        w.has_git
        and length(trim(regexp_replace(p.prompt, '\s+', ' ', 'g'))) - length(regexp_replace(p.prompt, '\s+', '', 'g')) + 1 <= $max_words
        and regexp_replace(
          lower(trim(p.prompt)),
          '^/?((ok|okay|yes|yeah|yep|great|good|perfect|nice|cool|thanks|thank you|now|please|pls|and|then|also|next|can you|could you'
            || '|lets|let.s|go ahead and|looks good|lgtm|just|well done)[ ,.!:;-]*)*(git )?'
            || '(commit|push|merge|rebase|squash|tag|stage|amend'
            || '|(open|create|make|submit|raise|file|draft|update) (a |the |an |another )?(new |draft )?(pr|pull request|merge request|mr))'
            || '([^a-z][\s\S]*)?$',
          ''
        ) = ''
      )
    )
),
found as (
  select
    t.number,
    count(distinct t.turn) as occurrences,
    count(distinct case when t.edits > 0 then t.turn end) as prose,
    max(r.model) as model,
    min(t.first_seq) as first_seq,
    max(t.last_seq) as last_seq,
    min(replace(substr(t.prompt, 1, 80), chr(10), ' ')) as prompt,
    cast(floor(sum(r.total_tokens * (1 - $other_price / m.price))) as bigint) as wasted_tokens,
    sum(round(r.cost_usd * (1 - $other_price / m.price) * 1e9)) / 1e9 as wasted_cost_usd,
    array_sort(array_agg(r.response_id)) as responses
  from chosen_turns t
  join requests r on r.number = t.number and r.turn = t.turn
  join models m on m.model = r.model
  group by t.number
  having sum(round(r.cost_usd * (1 - $other_price / m.price) * 1e9)) / 1e9 >= $min_wasted_usd
)
select
  'overqualified_model' as detector,
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
  f.model || ': ' || coalesce(f.prompt, 'a turn without a prompt')
    || case when f.occurrences = 1 then '' else ', and ' || cast(f.occurrences - 1 as text) || ' more' end as evidence,
  case when f.occurrences = 1 then 'A turn' else cast(f.occurrences as text) || ' turns' end
    || case when f.prose = f.occurrences then ' that only edited prose'
            when f.prose = 0 then ' that only worked with git'
            else ' that only edited prose or worked with git' end
    || case when f.occurrences = 1 then ' was' else ' were' end || ' answered by ' || f.model
    || '. Choose a cheaper model before such a turn (`/model`), or leave it to a subagent that runs on one.' as explanation,
  'estimated' as basis,
  c.machine,
  f.responses
from found f
join chosen c on c.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
