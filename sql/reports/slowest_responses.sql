-- name: slowest_responses
-- title: Slowest responses
-- group: Time -- and how fast they were
-- about: The responses that took longest, with their speed. Only agents that record durations have any.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- param: rows int = 50 from 1 -- Most rows to return. Count.
-- column: duration_ms -- Duration of the response. Milliseconds.
-- column: output_tokens -- Output, including reasoning. Tokens.
-- column: tokens_per_second -- Output per second; null without output. Tokens.
-- column: model -- Model as priced, or as stored if no price is known.
-- column: timestamp -- When the response began, as closely as the agent records it.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: session_id -- Identity of the session, together with machine and agent.
-- column: response_id -- Id of the response.
-- column: machine -- Machine that the session ran on.
-- show: duration_ms, output_tokens as output, tokens_per_second as per second, model, timestamp as time, project,
-- show: session_id, agent
select
  u.duration_ms,
  u.output_tokens,
  round(u.output_tokens * 1000.0 / nullif(u.duration_ms, 0), 2) as tokens_per_second,
  coalesce(u.model_key, u.model) as model,
  u.timestamp,
  s.project,
  u.agent,
  u.session_id,
  u.response_id,
  u.machine
from usage u
join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
where u.duration_ms is not null
  and u.grain = 'response'
  and ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
  and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
  and ($project is null or s.project = $project)
  and ($agent is null or u.agent = $agent)
order by u.duration_ms desc nulls last, u.machine, u.agent, u.response_id
limit $rows
