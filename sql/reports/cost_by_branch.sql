-- name: cost_by_branch
-- title: Cost by branch
-- group: Cost -- also cost_by_agent
-- about: What each git branch cost, most expensive first; default branches and usage without a branch come last. The
-- about: branch is the one that the agent recorded with the response; if it recorded none, that of the session.
-- note: All kinds of work meet on a default branch. The branch of a session is its last one, so some of its responses
-- note: may belong to another.
-- param: default_branches text = '|main|master|trunk|develop|dev|next|' -- Branches that are no feature's.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: repository -- Git repository, also if only another session in the folder recorded it; else the project's short name.
-- column: branch -- Git branch; null if the agent recorded none.
-- column: is_default -- True for a default branch: all kinds of work meet there.
-- column: basis -- Where the branch is from: response, session, or both; null without a branch.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- column: first_used -- When the first response began.
-- column: last_used -- When the last response began.
-- show: branch, cost_usd, repository, sessions, responses, total_tokens, last_used, basis, is_default
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
stamped as (
  select m.machine, m.agent, m.session_id, m.response_id, max(m.git_branch) as branch
  from messages m
  where m.response_id is not null and m.git_branch <> 'HEAD'
  group by m.machine, m.agent, m.session_id, m.response_id
),
placed as (
  select
    s.repository,
    coalesce(b.branch, s.git_branch) as branch,
    case when b.branch is not null then 'response' when s.git_branch is not null then 'session' end as basis,
    s.machine || '/' || s.agent || '/' || s.root_session_id as root,
    u.cost_usd, u.grain, u.total_tokens, u.timestamp
  from usage u
  join located s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  left join stamped b
    on b.machine = u.machine and b.agent = u.agent and b.session_id = u.session_id and b.response_id = u.response_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
),
by_branch as (
  select
    repository,
    branch,
    coalesce(strpos($default_branches, '|' || branch || '|') > 0, false) as is_default,
    case when min(basis) = max(basis) then min(basis) when max(basis) is not null then 'both' end as basis,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where cost_usd is null) as unpriced_responses,
    count(distinct root) as sessions,
    nullif(count(*) filter (where grain = 'response'), 0) as responses,
    sum(total_tokens) as total_tokens,
    min(timestamp) as first_used,
    max(timestamp) as last_used
  from placed
  group by repository, branch
)
select *
from by_branch
order by branch is null, is_default, cost_usd desc nulls last, repository nulls last, branch nulls last
