-- name: mcp_servers
-- title: MCP servers
-- group: Tools -- calls and failures by server
-- about: How often the tools of each MCP server were called, how the calls ended, how much they returned, and what the
-- about: responses cost that called it or read its results. A response reads the results of the calls of the one before.
-- note: Do not add the two costs: a response that reads a result and calls again is in both. A response that calls two
-- note: servers is in the rows of both. Responses may do other work too.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: mcp_server -- Server, as the agent names it.
-- column: agent -- Coding agent.
-- column: tools -- Tools of the server that were called. Count.
-- column: calls -- Calls. Count.
-- column: sessions -- Sessions that called it; a subagent's session counts as part of its parent. Count.
-- column: errors -- Calls that ran and failed. Count.
-- column: error_rate -- errors / calls that succeeded or failed; null if there are none. 0 to 1.
-- column: output_bytes -- Size of the results of all calls. Bytes.
-- column: median_ms -- Median duration of the calls that have one. Milliseconds.
-- column: call_cost_usd -- Cost of the responses that called the server; null if none has a price. USD.
-- column: read_cost_usd -- Cost of the responses right after these; null if none has a price. USD.
-- show: mcp_server as server, calls, errors, error_rate as failed, call_cost_usd as cost of calls,
-- show: read_cost_usd as cost of reading, output_bytes as output, median_ms as median, agent, tools, sessions
-- total: sum of calls, errors, output_bytes
with calls as (
  select
    t.machine, t.agent, t.session_id, s.root_session_id, t.response_id, t.mcp_server, t.name, t.output_bytes, t.duration_ms,
    case when t.is_denied then 'rejected' else t.status end as status
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where t.mcp_server is not null
    and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
),
by_server as (
  select
    c.mcp_server,
    c.agent,
    count(distinct c.name) as tools,
    count(*) as calls,
    count(distinct c.machine || '/' || c.root_session_id) as sessions,
    count(*) filter (where c.status = 'error') as errors,
    count(*) filter (where c.status = 'ok') as ok,
    sum(c.output_bytes) as output_bytes,
    round(median(cast(c.duration_ms as double))) as median_ms
  from calls c
  group by c.mcp_server, c.agent
),
responses as (
  select
    u.machine, u.agent, u.session_id, u.response_id, u.cost_usd,
    lead(u.cost_usd) over (
      partition by u.machine, u.agent, u.session_id, u.is_sidechain
      order by u.timestamp asc nulls last, u.source_line asc nulls last, u.response_id asc nulls last
    ) as next_cost_usd
  from usage u
  join (select distinct machine, agent, session_id from calls) c
    on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.grain = 'response'
),
costs as (
  select
    c.mcp_server,
    c.agent,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(r.cost_usd * 1e9)) / 1e9 as call_cost_usd,
    sum(round(r.next_cost_usd * 1e9)) / 1e9 as read_cost_usd
  from (select distinct machine, agent, session_id, response_id, mcp_server from calls where response_id is not null) c
  join responses r
    on r.machine = c.machine and r.agent = c.agent and r.session_id = c.session_id and r.response_id = c.response_id
  group by c.mcp_server, c.agent
)
select
  s.mcp_server,
  s.agent,
  s.tools,
  s.calls,
  s.sessions,
  s.errors,
  round(s.errors * 1e0 / nullif(s.ok + s.errors, 0), 6) as error_rate,
  s.output_bytes,
  s.median_ms,
  c.call_cost_usd,
  c.read_cost_usd
from by_server s
left join costs c on c.mcp_server = s.mcp_server and c.agent = s.agent
order by s.calls desc nulls last, s.mcp_server, s.agent
