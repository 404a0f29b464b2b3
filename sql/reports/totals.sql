-- name: totals
-- title: Totals
-- group: Cost -- everything in one row
-- about: The totals of everything, in one row.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: sessions -- Sessions with a message or usage; a subagent's session counts as part of its parent. Count.
-- column: billed_sessions -- Of these, sessions with usage: those that the tables of cost count. Count.
-- column: prompts -- Prompts, without those for subagents; prompts of jobs and of the agents' own helpers count too. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: partial_responses -- Responses with inexact counts: rounded, estimated, or taken while the response was running. Count.
-- column: input_tokens -- Input that was neither read from nor written to a cache. Tokens.
-- column: cache_read_tokens -- Input read from a cache. Tokens.
-- column: cache_write_tokens -- Input written to a cache. Tokens.
-- column: output_tokens -- Output, including reasoning. Tokens.
-- column: total_tokens -- Tokens of all kinds. Tokens.
-- column: first_used -- When the first response began.
-- column: last_used -- When the last response began.
-- show: cost_usd, sessions, (billed_sessions as with usage), prompts, responses,
-- show: (unpriced_responses as without a price), (partial_responses as with inexact counts), total_tokens,
-- show: (input_tokens), (cache_read_tokens), (cache_write_tokens), (output_tokens), first_used, last_used
with chosen as (
  select s.machine, s.agent, s.session_id, s.root_session_id, s.is_subagent, s.started_at
  from sessions s
  where ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
billed as (
  select
    c.machine, c.agent, c.root_session_id, u.timestamp, u.grain, u.cost_usd, u.is_partial, u.input_tokens, u.cache_read_tokens,
    coalesce(u.cache_write_5m_tokens + u.cache_write_1h_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens)
      as cache_write_tokens,
    u.output_tokens, u.total_tokens
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and c.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and c.started_at < $until))
),
said as (
  select
    c.machine, c.agent, c.root_session_id,
    count(*) filter (where m.kind = 'prompt' and not m.is_sidechain and not c.is_subagent) as prompts
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where ($since is null or m.timestamp >= $since or (m.timestamp is null and c.started_at >= $since))
    and ($until is null or m.timestamp < $until or (m.timestamp is null and c.started_at < $until))
  group by c.machine, c.agent, c.root_session_id
),
worked as (
  select machine, agent, root_session_id from billed
  union
  select machine, agent, root_session_id from said
)
select
  (select count(*) from worked) as sessions,
  count(distinct machine || '/' || agent || '/' || root_session_id) as billed_sessions,
  (select coalesce(sum(prompts), 0) from said) as prompts,
  nullif(count(*) filter (where grain = 'response'), 0) as responses,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
  count(*) filter (where cost_usd is null) as unpriced_responses,
  count(*) filter (where is_partial) as partial_responses,
  sum(input_tokens) as input_tokens,
  sum(cache_read_tokens) as cache_read_tokens,
  sum(cache_write_tokens) as cache_write_tokens,
  sum(output_tokens) as output_tokens,
  sum(total_tokens) as total_tokens,
  min(timestamp) as first_used,
  max(timestamp) as last_used
from billed
