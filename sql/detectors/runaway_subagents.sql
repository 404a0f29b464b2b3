-- name: runaway_subagents
-- needs: kind = 'subagent' and total_tokens > 0
-- title: Subagents that cost far more than they brought back
-- about: Subagents that only explored and answered with little for what they used: more than `max_ratio` tokens for each
-- about: token of their answers. The answers are all texts that they wrote, or all that their caller received, if that is
-- about: more, at four letters a token. The lowest waste applies to all such subagents of one caller together, so that
-- about: many small ones count as one large one. Left out are helpers that the program starts by itself (guardians,
-- about: compaction), reviews and checks (their answer is short by nature), and subagents without text. Also left out are
-- about: subagents that edited, committed, built, tested, used a browser or another service, or returned data with a
-- about: tool.
-- about: The waste is the tokens above the limit, and that share of the subagent's cost, which is an estimate. The
-- about: finding belongs to the subagent, never to its caller, so no dollar counts twice. Severity is medium from 0.5 USD
-- about: on, high from 5.
-- about: The filters `since`, `until` and `agent` choose what is reported; the waste of a caller's subagents always comes
-- about: from all of them.
-- todo: Give subagents a narrower task and a cheaper model.
-- habit: subagents that brought back little
-- param: max_ratio int = 5000 -- Most tokens used for each token of the answers. Tokens.
-- param: min_wasted_usd float = 0.5 -- Lowest waste of all subagents of one caller together. USD.
-- param: min_wasted_tokens int = 2000000 -- The same for tokens whose price is unknown. Tokens.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with unpriced as (
  select machine, agent, session_id, sum(total_tokens) as tokens
  from usage
  where cost_usd is null and total_tokens > 0
  group by machine, agent, session_id
),
subagents as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.ended_at, s.subagent_type, s.title, s.responses,
    s.total_tokens, s.cost_usd, p.tokens as unpriced_tokens, coalesce(s.parent_session_id, s.session_id) as caller,
    sum(round(s.cost_usd * 1e9)) over (
      partition by s.machine, s.agent, coalesce(s.parent_session_id, s.session_id)
    ) / 1e9 as cost_of_all,
    sum(p.tokens) over (
      partition by s.machine, s.agent, coalesce(s.parent_session_id, s.session_id)
    ) as unpriced_of_all
  from sessions s
  left join unpriced p on p.machine = s.machine and p.agent = s.agent and p.session_id = s.session_id
  where s.kind = 'subagent'
    and s.total_tokens > 0
    and regexp_replace(
      lower(coalesce(s.subagent_type, '') || ' ' || substr(coalesce(s.title, ''), 1, 200)),
      'guardian|review|audit|verif|validat', ''
    ) = lower(coalesce(s.subagent_type, '') || ' ' || substr(coalesce(s.title, ''), 1, 200))
    and ($project is null or s.project = $project)
),
chosen as (
  select * from subagents where cost_of_all >= $min_wasted_usd or unpriced_of_all >= $min_wasted_tokens
),
done as (
  select
    t.machine, t.agent, t.session_id,
    max(t.seq) as last_seq,
    bool_or(t.name = 'StructuredOutput' or (t.status = 'ok' and (
      t.category in ('edit', 'write', 'browser', 'mcp')
      or (t.category = 'shell' and regexp_replace(
        ' ' || substr(t.command, 1, 2000),
        'apply_patch|git +(-[cC] +[^ ]+ +)*(commit|push)|sed -i|cat *>|tee |[^0-9&<>=-]>>? *[^/&> ]'
          || '|[ ;&|](cargo|npm|npx|pnpm|yarn|bun|make|gradle|mvn|pytest|tox|docker|kubectl|terraform|gh) '
          || '|go (test|build|vet)|(run|unit|e2e)[-_ ]?tests?',
        ''
      ) <> ' ' || substr(t.command, 1, 2000))
    ))) as has_worked
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  group by t.machine, t.agent, t.session_id
),
received as (
  select t.machine, t.agent, t.child_session_id, sum(t.output_bytes) as bytes
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.child_session_id
  where t.child_session_id is not null and t.status = 'ok'
  group by t.machine, t.agent, t.child_session_id
),
written as (
  select
    m.machine, m.agent, m.session_id,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq,
    sum(case when m.kind = 'reply' then length(m.text) end) as letters
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  group by m.machine, m.agent, m.session_id
),
yields as (
  select
    c.*,
    w.first_seq,
    greatest(w.last_seq, coalesce(d.last_seq, w.last_seq)) as last_seq,
    cast(floor(greatest(coalesce(w.letters, 0), coalesce(r.bytes, 0)) / 4.0) as bigint) as yield_tokens
  from chosen c
  join written w on w.machine = c.machine and w.agent = c.agent and w.session_id = c.session_id
  left join received r on r.machine = c.machine and r.agent = c.agent and r.child_session_id = c.session_id
  left join done d on d.machine = c.machine and d.agent = c.agent and d.session_id = c.session_id
  where coalesce(w.letters, r.bytes) > 0 and not coalesce(d.has_worked, false)
),
excesses as (
  select
    y.*,
    total_tokens - $max_ratio * yield_tokens as wasted_tokens,
    floor(round(cost_usd * 1e9) * (total_tokens - $max_ratio * yield_tokens) / total_tokens) as nanos,
    floor(unpriced_tokens * 1.0 * (total_tokens - $max_ratio * yield_tokens) / total_tokens) as unpriced_wasted_tokens
  from yields y
  where total_tokens > $max_ratio * yield_tokens
),
fan_outs as (
  select
    e.*,
    count(*) over (partition by machine, agent, caller) as runaways,
    sum(nanos) over (partition by machine, agent, caller) / 1e9 as wasted_of_all,
    sum(unpriced_wasted_tokens) over (partition by machine, agent, caller) as unpriced_wasted_of_all
  from excesses e
),
billed as (
  select u.machine, u.agent, u.session_id, array_sort(array_agg(u.response_id)) as responses
  from usage u
  join excesses e on e.machine = u.machine and e.agent = u.agent and e.session_id = u.session_id
  group by u.machine, u.agent, u.session_id
)
select
  'runaway_subagents' as detector,
  f.agent,
  f.session_id,
  project,
  started_at,
  case when nanos >= 5e9 then 'high' when nanos >= 5e8 then 'medium' else 'low' end as severity,
  greatest(f.responses, 1) as occurrences,
  wasted_tokens,
  nanos / 1e9 as wasted_cost_usd,
  first_seq,
  last_seq,
  coalesce(subagent_type, 'subagent')
    || coalesce(': ' || nullif(trim(replace(substr(title, 1, 80), chr(10), ' ')), ''), '') as evidence,
  'It used '
    || regexp_replace(reverse(regexp_replace(reverse(cast(total_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' tokens to look around, and answered with about '
    || regexp_replace(reverse(regexp_replace(reverse(cast(yield_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || case when yield_tokens = 1 then ' token. ' else ' tokens. ' end
    || case when runaways = 1 then 'Ask it a narrower question, and name the files to look at.'
       else cast(runaways as text)
         || ' subagents of this caller did so. Start fewer, ask narrower questions, and name the files to look at.' end
    as explanation,
  'estimated' as basis,
  f.machine,
  b.responses
from fan_outs f
left join billed b on b.machine = f.machine and b.agent = f.agent and b.session_id = f.session_id
where (
    (nanos is not null and wasted_of_all >= $min_wasted_usd)
    or (unpriced_tokens > 0 and unpriced_wasted_of_all >= $min_wasted_tokens)
  )
  and ($since is null or ended_at >= $since)
  and ($until is null or started_at < $until)
  and ($agent is null or f.agent = $agent)
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, started_at, f.agent, f.machine, f.session_id, first_seq
