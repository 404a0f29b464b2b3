-- name: largest_outputs
-- title: Largest tool outputs
-- group: Tools -- what filled the context
-- about: The calls with the largest results, which fill the context.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- param: rows int = 50 from 1 -- Most rows to return. Count.
-- column: output_bytes -- Size of the result. Bytes.
-- column: name -- Tool, as the agent names it.
-- column: command -- Shell command; null for other tools.
-- column: file_path -- File that the call reads or changes.
-- column: status -- How the call ended.
-- column: started_at -- When it began.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: session_id -- Identity of the session, together with machine and agent.
-- column: seq -- Position of the call in the session.
-- column: machine -- Machine that the session ran on.
-- show: output_bytes as output, name as tool, command, file_path as file, project, session_id, seq, status,
-- show: started_at as time, agent
select
  t.output_bytes,
  t.name,
  t.command,
  t.file_path,
  t.status,
  t.started_at,
  s.project,
  t.agent,
  t.session_id,
  t.seq,
  t.machine
from tool_calls t
join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
where t.output_bytes > 0
  and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
  and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
  and ($project is null or s.project = $project)
  and ($agent is null or t.agent = $agent)
order by t.output_bytes desc nulls last, t.machine, t.agent, t.session_id, t.seq
limit $rows
