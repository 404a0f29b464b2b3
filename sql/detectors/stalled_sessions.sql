-- name: stalled_sessions
-- needs: kind = 'session' and prompts > 0
-- title: Sessions that ended without an answer
-- about: Sessions whose last record is a prompt that nobody answered, a request that failed, a call that failed or never
-- about: returned, or a result that the agent did not use. Left out are sessions that the agent ended (by
-- about: `attempt_completion`, a plan, or an open question) or the person ended (by an interruption, a declined call, or
-- about: a command such as /exit). Also left out are sessions that continued in a fork, copies of a session that were
-- about: taken while it committed, subagents and empty drafts. So are sessions that may still run: their last record is
-- about: less than `idle_minutes` older than the machine's last record in the lake.
-- about: The waste is the cost of the responses of the last turn if it changed no file and no repository. It is null if
-- about: the turn did, or if nothing was billed. Severity is medium from 0.5 USD on, high from 5.
-- todo: Look at the last turn. Restart with a smaller task, or check permissions and limits.
-- habit: sessions that ended without an answer
-- param: idle_minutes int = 60 -- A session without records for so long has ended. Minutes.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with latest as (
  select machine, max(ended_at) as moment from sessions group by machine
),
continued as (
  select machine, agent, forked_from_session_id as session_id
  from sessions
  where forked_from_session_id is not null
  group by machine, agent, forked_from_session_id
),
chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.title
  from sessions s
  join latest l on l.machine = s.machine
  left join continued f on f.machine = s.machine and f.agent = s.agent and f.session_id = s.session_id
  where s.kind = 'session'
    and s.prompts > 0
    and f.session_id is null
    and extract(epoch from l.moment) - extract(epoch from s.ended_at) >= $idle_minutes * 60
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
-- The last record of each turn: its position times 8, plus its kind.
turns as (
  select
    m.machine, m.agent, m.session_id, coalesce(m.turn, 0) as turn,
    min(m.seq) as first_seq,
    max(m.seq) as last_seq,
    sum(case when m.kind = 'api_error' then 1 else 0 end) as api_errors,
    max(m.seq * 8 + case m.kind
      when 'prompt' then 1
      when 'command' then 7
      when 'api_error' then 2
      when 'tool_result' then 3
      when 'reply' then case when m.stop_reason in ('tool_use', 'toolUse', 'tool-calls', 'tool_calls') then 4 else 5 end
      else 6
    end) as last_word
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where not m.is_sidechain
    and not m.is_abandoned
    and (
      m.kind in ('api_error', 'tool_result', 'reply', 'abort')
      or (m.kind = 'prompt' and m.text_sketch is not null)
      or (m.kind = 'command' and regexp_replace(
        substr(m.text, 1, 40), '^(<command-name>)?/(exit|quit|clear|new|resume)([ <]|$)', ''
      ) <> substr(m.text, 1, 40))
    )
  group by m.machine, m.agent, m.session_id, coalesce(m.turn, 0)
),
numbered as (
  select t.*, row_number() over (partition by machine, agent, session_id order by last_word desc nulls last) as from_end
  from turns t
),
last_turns as (
  select
    n.machine, n.agent, n.session_id, n.turn, n.first_seq, n.last_seq, n.api_errors,
    n.last_word % 8 as word
  from numbered n
  where n.from_end = 1 and n.last_word % 8 < 6
),
last_calls as (
  select
    t.machine, t.agent, t.session_id, t.seq, t.status, l.turn,
    t.name || coalesce(' ' || replace(substr(coalesce(t.command, t.file_path), 1, 80), chr(10), ' '), '') as call,
    t.name in (
      'AskUserQuestion', 'ExitPlanMode', 'StructuredOutput', 'request_user_input', 'question', 'attempt_completion',
      'ask_followup_question', 'plan_mode_respond', 'new_task'
    ) or (t.category = 'shell' and substr(t.command, 1, 2000) like '%git%commit%' and t.status <> 'error') as is_end,
    case
      when t.status = 'ok' and (
        t.category in ('edit', 'write')
        or array_length(t.git_operations) >= 1
        or (t.category = 'shell' and regexp_replace(
          ' ' || substr(t.command, 1, 2000),
          'apply_patch|sed -i|cat *>|tee |[^0-9&<>=-]>>? *[^/&> ]|[ ;&|](mv|cp|rm|mkdir) ',
          ''
        ) <> ' ' || substr(t.command, 1, 2000))
      ) then 1
      else 0
    end as is_edit
  from tool_calls t
  join last_turns l
    on l.machine = t.machine and l.agent = t.agent and l.session_id = t.session_id and l.turn = coalesce(t.turn, 0)
  where not t.is_sidechain
),
calls as (
  select
    machine, agent, session_id, seq, status, call, is_end,
    max(is_edit) over (partition by machine, agent, session_id) as has_edits,
    row_number() over (partition by machine, agent, session_id order by seq desc nulls last) as from_end
  from last_calls
),
ends as (
  select
    l.machine, l.agent, l.session_id, l.turn, l.first_seq, l.api_errors, k.call,
    greatest(l.last_seq, coalesce(k.seq, l.last_seq)) as last_seq,
    coalesce(k.has_edits, 0) as has_edits,
    case
      when l.word = 1 then 'prompt'
      when l.word = 2 then 'api_error'
      when k.is_end then null
      when l.word = 3 or k.seq > l.last_seq then case
        when k.status in ('error', 'pending') then k.status
        when k.status = 'ok' and l.word in (3, 4) then 'result'
      end
    end as ending
  from last_turns l
  left join calls k
    on k.machine = l.machine and k.agent = l.agent and k.session_id = l.session_id and k.from_end = 1
),
costs as (
  select
    u.machine, u.agent, u.session_id, coalesce(u.turn, 0) as turn,
    sum(u.total_tokens) as tokens,
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost,
    array_sort(array_agg(u.response_id)) as responses
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where not u.is_sidechain and u.grain <> 'session'
  group by u.machine, u.agent, u.session_id, coalesce(u.turn, 0)
),
findings as (
  select
    e.*, c.project, c.started_at, nullif(trim(replace(substr(c.title, 1, 80), chr(10), ' ')), '') as title,
    case when e.has_edits = 0 then k.tokens end as wasted_tokens,
    case when e.has_edits = 0 then k.cost end as wasted_cost_usd,
    case when e.has_edits = 0 then k.responses end as responses
  from ends e
  join chosen c on c.machine = e.machine and c.agent = e.agent and c.session_id = e.session_id
  left join costs k on k.machine = e.machine and k.agent = e.agent and k.session_id = e.session_id and k.turn = e.turn
  where e.ending is not null
)
select
  'stalled_sessions' as detector,
  agent,
  session_id,
  project,
  started_at,
  case when wasted_cost_usd >= 5 then 'high' when wasted_cost_usd >= 0.5 then 'medium' else 'low' end as severity,
  greatest(api_errors, 1) as occurrences,
  wasted_tokens,
  wasted_cost_usd,
  first_seq,
  last_seq,
  case ending when 'prompt' then 'prompt' when 'api_error' then 'failed request' else call end
    || coalesce(', in: ' || title, '') as evidence,
  case ending
    when 'prompt' then 'The session ends with a prompt that got no answer. Resume it, or ask again.'
    when 'api_error' then 'The session ends with a request that failed. Resume it when the service works again.'
    when 'error' then 'The session ends with a call that failed, and the agent said no more. Resume it, and ask what failed.'
    when 'pending' then 'The session ends with a call that never came back. Give such calls a time limit, and resume it.'
    else 'The session ends in the middle: the agent got the result of a call, and said no more. Resume it, and ask it to go on.'
  end || case
    when wasted_tokens > 0 then ' Its last turn used '
      || regexp_replace(reverse(regexp_replace(reverse(cast(wasted_tokens as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
      || ' tokens, and brought neither an answer nor an edit.'
    else ''
  end as explanation,
  'measured' as basis,
  machine,
  responses
from findings
order by wasted_cost_usd desc nulls last, occurrences desc nulls last, started_at, agent, machine, session_id, first_seq
