-- name: cache_miss_reasons
-- title: Why the cache was missed
-- group: Caches -- why the cache was missed
-- about: Why cached input was not used, as the provider says, by project and version, most tokens first. The detector
-- about: `cache_misses` infers misses for all agents.
-- note: Only newer versions of Claude Code record a reason. `unavailable` means that the provider does not know.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: agent -- Coding agent.
-- column: agent_version -- Version of the agent; null if it recorded none.
-- column: reason -- Reason, as stored.
-- column: responses -- Responses with this reason. Count.
-- column: missed_tokens -- Input that was not read from the cache; null if not recorded. Tokens.
-- column: cost_usd -- Cost of these responses; null if none has a price. USD.
-- show: reason, cost_usd, missed_tokens, responses, project, agent, agent_version
-- total: sum of responses, missed_tokens, cost_usd
select
  s.project,
  s.agent,
  s.agent_version,
  u.cache_miss_reason as reason,
  count(*) as responses,
  sum(u.cache_missed_tokens) as missed_tokens,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd
from usage u
join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
where u.cache_miss_reason is not null
  and ($since is null or u.timestamp >= $since)
  and ($until is null or u.timestamp < $until)
  and ($project is null or s.project = $project)
  and ($agent is null or u.agent = $agent)
group by s.project, s.agent, s.agent_version, u.cache_miss_reason
order by missed_tokens desc nulls last, responses desc nulls last, project nulls last, agent, agent_version nulls last, reason
