-- name: cost_by_pull_request
-- title: Cost by pull request
-- group: Cost -- also cost_by_agent
-- about: What each pull or merge request cost, most expensive first. For one that a call opened, all responses on its
-- about: branch count, also those of other sessions (basis: branch); for others that were reviewed, commented or merged,
-- about: those of the turn (basis: turn), without its subagents. Of several on one branch, a response counts for the
-- about: next one that was opened after it; of several in one turn, for the first.
-- note: Sessions without a recorded branch count by turn only. Whether a request was merged is not in the files.
-- param: follow_days int = 14 -- How long after it was opened responses on its branch still count. Days.
-- param: default_branches text = '|main|master|trunk|develop|dev|next|' -- Branches that are no feature's.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: pull_request -- URL of the request; null for usage that belongs to none.
-- column: basis -- branch, turn, or both; null for usage that belongs to none.
-- column: opened_at -- When a call opened it; null if none did.
-- column: branch -- Branch that it was opened from; null if unknown.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- column: last_used -- When the last response began.
-- show: pull_request, cost_usd, sessions, responses, total_tokens, branch, opened_at, last_used, basis
-- total: totals, sessions = billed_sessions
with located as (
  select
    s.*,
    -- Claude Code records the repository only in sessions that opened a pull request.
    coalesce(
      s.git_repo,
      case
        when s.project_path is not null and min(s.git_repo) over folder = max(s.git_repo) over folder
        then min(s.git_repo) over folder
      end,
      max(s.git_repo) over (partition by s.machine, s.agent, s.root_session_id),
      s.project
    ) as repository
  from sessions s
  window folder as (partition by s.machine, s.project_path)
),
numbered as (
  select
    s.machine, s.agent, s.session_id, s.started_at, s.project, s.git_branch, s.repository,
    s.machine || '/' || s.agent || '/' || s.root_session_id as root,
    row_number() over (
      order by s.machine asc nulls last, s.agent asc nulls last, s.session_id asc nulls last
    ) as number
  from located s
),
stamped as (
  select s.number, m.response_id, max(m.git_branch) as branch
  from messages m
  join numbered s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
  where m.response_id is not null and m.git_branch <> 'HEAD'
  group by s.number, m.response_id
),
touched as (
  select
    s.number, s.repository, t.turn, t.pull_request, t.started_at,
    array_contains(t.git_operations, 'pr_create') as is_opened,
    coalesce(t.git_branch, b.branch, s.git_branch) as branch
  from tool_calls t
  join numbered s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  left join stamped b on b.number = s.number and b.response_id = t.response_id
  where t.pull_request is not null
),
opened as (
  select
    pull_request,
    min(started_at) as opened_at,
    max(repository) as repository,
    max(case when strpos($default_branches, '|' || branch || '|') = 0 then branch end) as branch
  from touched
  where is_opened
  group by pull_request
),
by_turn as (
  select
    t.number, t.turn, t.pull_request,
    row_number() over (
      partition by t.number, t.turn order by t.started_at asc nulls last, t.pull_request asc nulls last
    ) as place
  from touched t
  where t.turn is not null
),
responses as (
  select
    s.number, s.root, s.repository,
    u.response_id, u.turn, u.timestamp, u.cost_usd, u.grain, u.total_tokens,
    coalesce(b.branch, s.git_branch) as branch
  from usage u
  join numbered s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  left join stamped b on b.number = s.number and b.response_id = u.response_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
),
candidates as (
  select
    r.number, r.response_id, o.pull_request,
    case when o.opened_at >= r.timestamp then 0 else 1 end as is_earlier,
    abs(extract(epoch from o.opened_at) - extract(epoch from r.timestamp)) as distance
  from responses r
  join opened o on o.repository = r.repository and o.branch = r.branch
  where extract(epoch from r.timestamp) - extract(epoch from o.opened_at) <= $follow_days * 86400
),
on_branch as (
  select
    c.*,
    row_number() over (
      partition by c.number, c.response_id
      order by c.is_earlier asc nulls last, c.distance asc nulls last, c.pull_request asc nulls last
    ) as place
  from candidates c
),
placed as (
  select
    coalesce(b.pull_request, t.pull_request) as pull_request,
    case when b.pull_request is not null then 'branch' when t.pull_request is not null then 'turn' end as basis,
    r.root, r.cost_usd, r.grain, r.total_tokens, r.timestamp
  from responses r
  left join on_branch b on b.number = r.number and b.response_id = r.response_id and b.place = 1
  left join by_turn t on t.number = r.number and t.turn = r.turn and t.place = 1
),
by_request as (
  select
    pull_request,
    case when min(basis) = max(basis) then min(basis) when max(basis) is not null then 'both' end as basis,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where cost_usd is null) as unpriced_responses,
    count(distinct root) as sessions,
    nullif(count(*) filter (where grain = 'response'), 0) as responses,
    sum(total_tokens) as total_tokens,
    max(timestamp) as last_used
  from placed
  group by pull_request
)
select
  p.pull_request,
  p.basis,
  o.opened_at,
  o.branch,
  p.cost_usd,
  p.unpriced_responses,
  p.sessions,
  p.responses,
  p.total_tokens,
  p.last_used
from by_request p
left join opened o on o.pull_request = p.pull_request
order by p.pull_request is null, p.cost_usd desc nulls last, p.pull_request nulls last
