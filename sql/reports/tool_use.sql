-- name: tool_use
-- title: Tools and their errors
-- group: Tools -- calls and failures
-- about: How often each tool was called and how its calls ended, most called first.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: agent -- Coding agent.
-- column: name -- Tool, as the agent names it.
-- column: category -- What most of its calls do: shell, read, write, edit, search, web, browser, task, todo, mcp, other.
-- column: calls -- Calls. Count.
-- column: sessions -- Sessions that called it; a subagent's session counts as part of its parent. Count.
-- column: errors -- Calls that ran and failed. Count.
-- column: rejections -- Calls that the person or a rule refused. Count.
-- column: interruptions -- Calls that were interrupted. Count.
-- column: unanswered -- Calls without a recorded result. Count.
-- column: error_rate -- errors / calls that succeeded or failed; null if there are none. 0 to 1.
-- column: output_bytes -- Size of the results of all calls. Bytes.
-- show: name as tool, calls, errors, error_rate as failed, agent, category, rejections, interruptions, unanswered,
-- show: output_bytes as output, sessions
-- total: sum of calls, errors, rejections, interruptions, unanswered, output_bytes
with chosen as (
  select
    t.agent, t.name, t.category, t.output_bytes,
    s.machine || '/' || s.root_session_id as session,
    case when t.is_denied then 'rejected' else t.status end as status
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
),
by_tool as (
  select
    agent,
    name,
    count(*) as calls,
    count(distinct session) as sessions,
    count(*) filter (where status = 'error') as errors,
    count(*) filter (where status = 'rejected') as rejections,
    count(*) filter (where status = 'interrupted') as interruptions,
    count(*) filter (where status = 'pending') as unanswered,
    count(*) filter (where status = 'ok') as ok,
    sum(output_bytes) as output_bytes
  from chosen
  group by agent, name
),
categories as (
  select
    agent, name, category,
    row_number() over (partition by agent, name order by count(*) desc nulls last, category asc nulls last) as place
  from chosen
  group by agent, name, category
)
select
  t.agent,
  t.name,
  c.category,
  t.calls,
  t.sessions,
  t.errors,
  t.rejections,
  t.interruptions,
  t.unanswered,
  round(t.errors * 1e0 / nullif(t.ok + t.errors, 0), 6) as error_rate,
  t.output_bytes
from by_tool t
join categories c on c.agent = t.agent and c.name = t.name and c.place = 1
order by t.calls desc nulls last, t.agent, t.name
