-- name: failed_edits
-- needs: tool_errors >= $min_failures
-- scope: session
-- title: Edits that did not fit the file
-- about: Edits of a session that the tool refused: the file had not been read or had changed since, the text to replace
-- about: was not found or not unique, the patch did not fit, or nothing would have changed. They need not be consecutive
-- about: (see error_cascades for that). Edits that the person declined do not count.
-- about: The waste is the cost of the responses that made only such edits.
-- about: Severity depends on the waste or the count: medium from 0.5 USD or 10 failed edits on, high from 5 USD.
-- todo: Let the agent read the file again before it edits. Do not edit or format files while it works.
-- habit: edits that did not fit the file
-- param: min_failures int = 3 -- Fewest failed edits of a session. Count.
-- param: min_share float = 0.1 -- Lowest share of failed edits in all edits that the session tried. Fraction.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select
    s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent,
    dense_rank() over (order by s.machine, s.agent, s.session_id) as number
  from sessions s
  where s.tool_errors >= $min_failures
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
calls as (
  select
    c.number, t.seq, t.category, t.file_path, t.response_id, t.error,
    t.category in ('edit', 'write') as is_edit
  from (
    -- Outputs are cut before the join, which would copy them.
    select
      machine, agent, session_id, seq, category, file_path, response_id,
      case when status = 'error' and category in ('edit', 'write') then lower(substr(output, 1, 300)) else '' end as error
    from tool_calls
  ) t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
),
judged as (
  select
    *,
    regexp_replace(
      error, 'not been read|(must|need to|should) (be )?read|read it first|modified since|changed since|been modified', ''
    ) <> error as is_stale,
    regexp_replace(
      error,
      'not found in|(string|text|content|lines|context|block)s? (to replace )?(was |were )?not found|no match|not match'
        || '|failed to (match|find|apply)|could not find|couldn.t find|cannot find|unable to find|not apply|not unique'
        || '|(found|expected) [0-9]+ (match|occurrence)|multiple (match|occurrence)|appears [0-9]+ times'
        || '|no changes to|identical|exactly the same|invalid (context|hunk|patch)',
      ''
    ) <> error as is_mismatch
  from calls
),
responses as (
  select
    number, response_id,
    bool_and(is_stale or is_mismatch) as has_failed
  from judged
  where response_id is not null
  group by number, response_id
),
costs as (
  select r.number, u.response_id, sum(u.total_tokens) as tokens, sum(round(u.cost_usd * 1e9)) as nanos
  from responses r
  join chosen c on c.number = r.number
  join usage u
    on u.machine = c.machine and u.agent = c.agent and u.session_id = c.session_id and u.response_id = r.response_id
  where r.has_failed
  group by r.number, u.response_id
),
wasted as (
  select
    number,
    sum(tokens) as tokens,
    sum(nanos) / 1e9 as cost,
    array_sort(array_agg(response_id)) as responses
  from costs
  group by number
),
found as (
  select
    number,
    sum(case when is_edit then 1 else 0 end) as edits,
    sum(case when is_stale or is_mismatch then 1 else 0 end) as occurrences,
    sum(case when is_stale then 1 else 0 end) as stale,
    min(case when is_stale or is_mismatch then seq end) as first_seq,
    max(case when is_stale or is_mismatch then seq end) as last_seq,
    min(case when is_stale or is_mismatch then file_path end) as file_path,
    count(distinct case when is_stale or is_mismatch then file_path end) as files
  from judged
  group by number
  having sum(case when is_stale or is_mismatch then 1 else 0 end) >= $min_failures
    and sum(case when is_stale or is_mismatch then 1 else 0 end)
      >= $min_share * sum(case when is_edit then 1 else 0 end)
)
select
  'failed_edits' as detector,
  c.agent,
  c.session_id,
  c.project,
  c.started_at,
  case when w.cost >= 5 then 'high' when w.cost >= 0.5 or f.occurrences >= 10 then 'medium' else 'low' end as severity,
  f.occurrences,
  w.tokens as wasted_tokens,
  w.cost as wasted_cost_usd,
  f.first_seq,
  f.last_seq,
  regexp_replace(reverse(regexp_replace(reverse(cast(f.occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' of '
    || regexp_replace(reverse(regexp_replace(reverse(cast(f.edits as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || ' edits, '
    || coalesce(f.file_path, 'no file named')
    || case when f.files <= 1 then '' else ' and ' || cast(f.files - 1 as text) || ' more' end as evidence,
  regexp_replace(reverse(regexp_replace(reverse(cast(f.occurrences as text)), '([0-9]{3})', '\1,', 'g')), '^,', '') || case when f.occurrences = 1 then ' edit' else ' edits' end || ' failed because '
    || case
      when f.stale = 0 then 'the text or patch did not fit the file'
      when f.stale = f.occurrences then 'the file had not been read or had changed since'
      else 'the file had not been read or had changed since (' || cast(f.stale as text)
        || '), or the text or patch did not fit it (' || cast(f.occurrences - f.stale as text) || ')'
    end
    || '. Tell the agent to read the lines right before it edits them; run formatters after the edits, not between them; '
    || 'and keep two sessions out of one folder.' as explanation,
  'measured' as basis,
  c.machine,
  w.responses
from found f
join chosen c on c.number = f.number
left join wasted w on w.number = f.number
order by wasted_cost_usd desc nulls last, wasted_tokens desc nulls last, c.started_at, c.agent, c.machine, c.session_id, f.first_seq
