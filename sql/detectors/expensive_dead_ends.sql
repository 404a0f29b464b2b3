-- name: expensive_dead_ends
-- title: Work that was paid for and thrown away
-- about: Branches that the conversation left (the person went back to an earlier prompt), and subagents whose call failed,
-- about: was declined or interrupted, or that ended in an API error or an abort: their findings are lost. Left out are
-- about: subagents that were called again and then finished, subagents whose caller got what they had written so far,
-- about: branches that edited files (unless the session edited one of them again after it went back), and subagents that
-- about: edited files. A commit, or another change of a repository, counts as an edit.
-- about: A dead end is reported if it cost more than `min_cost`, or more than both `min_share` of its session and
-- about: `min_share_cost`. For a subagent, its session is the one that called it. It is also reported if its tokens without
-- about: a known price are `min_share_tokens` or more, and more than the same share of its session's tokens.
-- about: The waste is the whole cost of the branch or of the subagent's session. Sessions that the subagent called count
-- about: separately. Severity is medium from 0.5 USD on, high from 5.
-- todo: Ask for a plan first. Rewind early.
-- habit: work that was paid for and thrown away
-- param: min_cost float = 0.5 -- Cost above which a dead end is expensive in any session. USD.
-- param: min_share float = 0.1 -- Share of its session above which it is expensive. Fraction.
-- param: min_share_cost float = 0.05 -- Lowest cost at which min_share counts. USD.
-- param: min_share_tokens int = 50000 -- Fewest tokens at which the share of tokens counts. Tokens.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.cost_usd, s.total_tokens, s.responses,
    s.is_subagent, s.parent_session_id, s.subagent_type, s.api_errors + s.aborts as stops
  from sessions s
  where ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
calls as (
  select
    t.machine, t.agent, t.child_session_id as session_id, t.name, t.status, t.output_bytes,
    row_number() over (
      partition by t.machine, t.agent, t.child_session_id order by t.started_at desc nulls last, t.session_id, t.seq desc nulls last
    ) as place
  from tool_calls t
  where t.child_session_id is not null
),
ends as (
  select
    m.machine, m.agent, m.session_id, m.kind,
    row_number() over (partition by m.machine, m.agent, m.session_id order by m.seq desc nulls last) as place
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where c.is_subagent and c.stops > 0 and m.kind in ('prompt', 'reply', 'tool_result', 'api_error', 'abort')
),
failed as (
  select
    c.machine, c.agent, c.session_id, c.cost_usd, c.total_tokens, c.responses, c.subagent_type, k.name,
    case
      when k.status = 'rejected' then 'was declined'
      when k.status = 'interrupted' then 'was interrupted'
      when e.kind = 'api_error' then 'ended in an API error'
      when k.status = 'error' then 'failed'
      else 'was interrupted'
    end as ending,
    p.cost_usd as session_cost,
    p.total_tokens as session_tokens
  from chosen c
  left join calls k
    on k.machine = c.machine and k.agent = c.agent and k.session_id = c.session_id and k.place = 1
  left join ends e
    on e.machine = c.machine and e.agent = c.agent and e.session_id = c.session_id and e.place = 1
  left join sessions p
    on p.machine = c.machine and p.agent = c.agent and p.session_id = c.parent_session_id
  where c.is_subagent
    and (
      k.status in ('rejected', 'interrupted', 'error')
      -- What was cut off returns its last words, if it had any: they are longer than an error.
      or (e.kind in ('api_error', 'abort') and coalesce(k.output_bytes, 0) < 500)
    )
),
steps as (
  select
    m.machine, m.agent, m.session_id, m.seq, m.response_id, m.is_abandoned,
    sum(case when m.is_abandoned then 0 else 1 end) over (
      partition by m.machine, m.agent, m.session_id order by m.seq rows between unbounded preceding and current row
    ) as branch
  from messages m
  join (
    select distinct machine, agent, session_id from messages where is_abandoned and response_id is not null
  ) b on b.machine = m.machine and b.agent = m.agent and b.session_id = m.session_id
  where m.kind in ('prompt', 'command', 'reply', 'tool_result') and not m.is_sidechain
),
left_behind as (
  select machine, agent, session_id, branch, response_id, min(seq) as first_seq, max(seq) as last_seq
  from steps
  where is_abandoned
  group by machine, agent, session_id, branch, response_id
),
branches as (
  select
    l.machine, l.agent, l.session_id, l.branch,
    min(l.first_seq) as first_seq,
    max(l.last_seq) as last_seq,
    count(distinct l.response_id) as responses,
    sum(u.total_tokens) as tokens,
    sum(case when u.cost_usd is null then u.total_tokens end) as unpriced_tokens,
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost,
    array_sort(array_agg(u.response_id) filter (where u.response_id is not null)) as response_ids
  from left_behind l
  left join usage u
    on u.machine = l.machine and u.agent = l.agent and u.session_id = l.session_id and u.response_id = l.response_id
  group by l.machine, l.agent, l.session_id, l.branch
),
-- Calls that changed files, in the sessions that left a branch or failed.
changes as (
  select
    t.machine, t.agent, t.session_id, t.seq, t.response_id,
    case when t.category in ('edit', 'write') then coalesce(t.file_path, '') else '' end as file
  from tool_calls t
  join (
    select machine, agent, session_id from branches
    union
    select machine, agent, session_id from failed
  ) c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.status = 'ok'
    and (t.category in ('edit', 'write') or array_length(t.git_operations) >= 1)
),
changed as (
  select l.machine, l.agent, l.session_id, l.branch, c.file, max(c.seq) as last_seq
  from left_behind l
  join changes c
    on c.machine = l.machine and c.agent = l.agent and c.session_id = l.session_id and c.response_id = l.response_id
  group by l.machine, l.agent, l.session_id, l.branch, c.file
),
latest as (
  select machine, agent, session_id, file, max(seq) as seq
  from changes
  group by machine, agent, session_id, file
),
-- Branches whose edits stayed: they changed a repository, or the session did not edit any of their files again.
stayed as (
  select e.machine, e.agent, e.session_id, e.branch
  from changed e
  join latest a on a.machine = e.machine and a.agent = e.agent and a.session_id = e.session_id and a.file = e.file
  group by e.machine, e.agent, e.session_id, e.branch
  having bool_or(e.file = '') or not bool_or(a.seq > e.last_seq)
),
billed as (
  select
    u.machine, u.agent, u.session_id,
    sum(case when u.cost_usd is null then u.total_tokens end) as unpriced_tokens,
    array_sort(array_agg(u.response_id)) as responses
  from usage u
  join failed f on f.machine = u.machine and f.agent = u.agent and f.session_id = u.session_id
  group by u.machine, u.agent, u.session_id
),
dead_ends as (
  select
    b.machine, b.agent, b.session_id, false as is_subagent, b.first_seq, b.last_seq,
    b.responses, b.response_ids, b.tokens, b.unpriced_tokens, b.cost, c.cost_usd as session_cost, c.total_tokens as session_tokens,
    'a branch of '
      || regexp_replace(reverse(regexp_replace(reverse(cast(b.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
      || case when b.responses = 1 then ' response' else ' responses' end as evidence,
    'The conversation went back and left '
      || regexp_replace(reverse(regexp_replace(reverse(cast(b.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
      || case when b.responses = 1 then ' response' else ' responses' end
      || ' behind. Write down what went wrong before you go back, so that the next try does not find it out again;'
      || ' ask for a plan first where the way is not clear.' as explanation
  from branches b
  join chosen c on c.machine = b.machine and c.agent = b.agent and c.session_id = b.session_id
  left join stayed y
    on y.machine = b.machine and y.agent = b.agent and y.session_id = b.session_id and y.branch = b.branch
  where y.branch is null
  union all
  select
    f.machine, f.agent, f.session_id, true as is_subagent, min(m.seq) as first_seq, max(m.seq) as last_seq,
    f.responses, i.responses as response_ids, f.total_tokens as tokens, i.unpriced_tokens,
    round(f.cost_usd * 1e9) / 1e9 as cost, f.session_cost, f.session_tokens,
    coalesce(f.name || ' ', '') || coalesce(f.subagent_type || ' ', '') || f.ending as evidence,
    'The subagent' || coalesce(' ' || f.subagent_type, '') || ' ' || f.ending || ' after '
      || regexp_replace(reverse(regexp_replace(reverse(cast(f.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
      || case when f.responses = 1 then ' response' else ' responses' end
      || '. Its caller got none of its findings: resume it if the agent can, or give its task again in smaller parts that'
      || ' save what they find.' as explanation
  from failed f
  left join (select distinct machine, agent, session_id from changes) y
    on y.machine = f.machine and y.agent = f.agent and y.session_id = f.session_id
  left join billed i on i.machine = f.machine and i.agent = f.agent and i.session_id = f.session_id
  join messages m on m.machine = f.machine and m.agent = f.agent and m.session_id = f.session_id
  where y.session_id is null
  group by
    f.machine, f.agent, f.session_id, f.responses, f.total_tokens, f.cost_usd, f.session_cost, f.session_tokens,
    f.name, f.subagent_type, f.ending, i.responses, i.unpriced_tokens
),
-- The cost of a failed subagent already includes that of its own abandoned branches.
outermost as (
  select *, bool_or(is_subagent) over (partition by machine, agent, session_id) as is_lost
  from dead_ends
)
select
  'expensive_dead_ends' as detector,
  d.agent,
  d.session_id,
  c.project,
  c.started_at,
  case when d.cost >= 5 then 'high' when d.cost >= 0.5 then 'medium' else 'low' end as severity,
  d.responses as occurrences,
  d.tokens as wasted_tokens,
  d.cost as wasted_cost_usd,
  d.first_seq,
  d.last_seq,
  d.evidence,
  d.explanation,
  'measured' as basis,
  d.machine,
  d.response_ids as responses
from outermost d
join chosen c on c.machine = d.machine and c.agent = d.agent and c.session_id = d.session_id
where d.responses > 0
  and d.is_subagent = d.is_lost
  and (
    d.cost > $min_cost
    or (d.cost >= $min_share_cost and d.cost > $min_share * d.session_cost)
    or (d.unpriced_tokens >= $min_share_tokens and d.unpriced_tokens > $min_share * d.session_tokens)
  )
order by d.cost desc nulls last, d.tokens desc nulls last, c.started_at, d.agent, d.machine, d.session_id, d.first_seq
