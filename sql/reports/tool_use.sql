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
-- column: category -- What the tool does: shell, read, write, edit, search, web, browser, task, todo, mcp, other.
-- column: calls -- Calls. Count.
-- column: sessions -- Sessions that called it. Count.
-- column: errors -- Calls that failed. Count.
-- column: rejections -- Calls that the person or a rule refused. Count.
-- column: interruptions -- Calls that were interrupted. Count.
-- column: unanswered -- Calls without a recorded result. Count.
-- column: error_rate -- errors / calls that succeeded or failed; null if there are none. 0 to 1.
-- column: output_bytes -- Size of the results of all calls. Bytes.
-- show: name as tool, calls, errors, error_rate as failed, agent, category, rejections, interruptions, unanswered,
-- show: output_bytes as output, sessions
-- total: sum of calls, errors, rejections, interruptions, unanswered, output_bytes
with by_tool as (
  select
    t.agent,
    t.name,
    min(t.category) as category,
    count(*) as calls,
    count(distinct t.machine || '/' || t.session_id) as sessions,
    count(*) filter (where t.status = 'error') as errors,
    count(*) filter (where t.status = 'rejected') as rejections,
    count(*) filter (where t.status = 'interrupted') as interruptions,
    count(*) filter (where t.status = 'pending') as unanswered,
    count(*) filter (where t.status = 'ok') as ok,
    sum(t.output_bytes) as output_bytes
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
  group by t.agent, t.name
)
select
  agent,
  name,
  category,
  calls,
  sessions,
  errors,
  rejections,
  interruptions,
  unanswered,
  round(errors * 1.0 / nullif(ok + errors, 0), 4) as error_rate,
  output_bytes
from by_tool
order by calls desc nulls last, agent, name
