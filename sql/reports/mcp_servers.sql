-- name: mcp_servers
-- title: MCP servers
-- about: How often the tools of each MCP server were called, how the calls ended, and how much they returned.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: mcp_server -- Server, as the agent names it.
-- column: agent -- Coding agent.
-- column: tools -- Tools of the server that were called. Count.
-- column: calls -- Calls. Count.
-- column: sessions -- Sessions that called it. Count.
-- column: errors -- Calls that failed. Count.
-- column: error_rate -- errors / calls that succeeded or failed; null if there are none. 0 to 1.
-- column: output_bytes -- Size of the results of all calls. Bytes.
-- column: median_ms -- Median duration of the calls that have one. Milliseconds.
with by_server as (
  select
    t.mcp_server,
    t.agent,
    count(distinct t.name) as tools,
    count(*) as calls,
    count(distinct t.machine || '/' || t.session_id) as sessions,
    count(*) filter (where t.status = 'error') as errors,
    count(*) filter (where t.status = 'ok') as ok,
    sum(t.output_bytes) as output_bytes,
    round(median(cast(t.duration_ms as double))) as median_ms
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where t.mcp_server is not null
    and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
  group by t.mcp_server, t.agent
)
select
  mcp_server,
  agent,
  tools,
  calls,
  sessions,
  errors,
  round(errors * 1.0 / nullif(ok + errors, 0), 4) as error_rate,
  output_bytes,
  median_ms
from by_server
order by calls desc nulls last, mcp_server, agent
