-- name: cost_by_commit
-- title: Cost until each commit
-- group: Cost -- also cost_by_agent
-- about: What was spent until each commit, newest first: the responses of a session and its subagents after their
-- about: previous commit, up to the one that made it. A commit that the session amended counts for the one that replaced
-- about: it. If one response made several commits, the first has its cost. Usage that no commit followed is in the last
-- about: rows.
-- note: This is not what a commit cost: the work before it need not be for it. The last rows are usually the largest
-- note: part. Squashing and rebasing on the server make commits that no session knows.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: commit_sha -- Commit, as git printed it; null for usage that no commit followed.
-- column: basis -- commit; or why there is none: after the last commit, no commit with a time in the session, or no time.
-- column: repository -- Git repository, also if only another session in the folder recorded it; else the project's short name.
-- column: branch -- Branch that git printed.
-- column: committed_at -- When the call was made.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: responses -- API responses; null if there is none, or if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- column: lines_added -- Lines that calls added in the same time; null if none says. Count.
-- column: lines_removed -- Lines that calls removed in the same time; null if none says. Count.
-- column: test_runs -- Calls that ran tests in the same time. Count.
-- show: commit_sha as commit, cost_usd, repository, branch, responses, total_tokens, lines_added, lines_removed,
-- show: test_runs, committed_at, basis
-- total: totals
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
    s.machine, s.agent, s.session_id, s.started_at, s.project, s.repository,
    dense_rank() over (
      order by s.machine asc nulls last, s.agent asc nulls last, s.root_session_id asc nulls last
    ) as root
  from located s
),
made as (
  select
    s.root, t.commit_sha,
    max(t.started_at) as committed_at,
    -- Some agents record when a response was written, which is after its calls.
    max(greatest(t.started_at, u.timestamp)) as moment,
    max(t.git_branch) as branch,
    max(s.repository) as repository,
    max(s.project) as project,
    max(s.agent) as agent,
    bool_or(array_contains(t.git_operations, 'amend') and not array_contains(t.git_operations, 'commit')) as is_amend
  from tool_calls t
  join numbered s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  left join usage u
    on u.machine = t.machine and u.agent = t.agent and u.session_id = t.session_id and u.response_id = t.response_id
  where t.commit_sha is not null and t.started_at is not null
  group by s.root, t.commit_sha
),
followed as (
  select
    m.*,
    lead(m.is_amend) over (
      partition by m.root order by m.moment asc nulls last, m.committed_at asc nulls last, m.commit_sha asc nulls last
    ) as is_replaced
  from made m
),
commits as (
  select
    f.*,
    row_number() over (
      partition by f.root
      order by f.moment desc nulls last, f.committed_at desc nulls last, f.commit_sha desc nulls last
    ) as span
  from followed f
  where not coalesce(f.is_replaced, false)
),
events as (
  select
    s.root, u.timestamp as moment, 0 as commits, 1 as has_row,
    u.cost_usd, u.grain, u.total_tokens,
    cast(null as bigint) as lines_added, cast(null as bigint) as lines_removed, cast(null as text) as test_outcome
  from usage u
  join numbered s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  union all
  select
    s.root, t.started_at, 0, 0, cast(null as double), cast(null as text), cast(null as bigint),
    t.lines_added, t.lines_removed, t.test_outcome
  from tool_calls t
  join numbered s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where (t.lines_added is not null or t.lines_removed is not null or t.test_outcome is not null)
    and ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
  union all
  select
    c.root, c.moment, 1,
    case
      when ($since is null or c.committed_at >= $since)
        and ($until is null or c.committed_at < $until)
        and ($project is null or c.project = $project)
        and ($agent is null or c.agent = $agent)
      then 1
      else 0
    end,
    cast(null as double), cast(null as text), cast(null as bigint),
    cast(null as bigint), cast(null as bigint), cast(null as text)
  from commits c
),
-- Only sessions with commits have to be sorted.
spans as (
  select
    e.*,
    sum(e.commits) over (
      partition by e.root order by e.moment desc nulls last, e.commits desc nulls last
      rows between unbounded preceding and current row
    ) as span,
    1 as has_commit
  from events e
  where e.root in (select root from commits)
  union all
  select e.*, 0, 0
  from events e
  where e.root not in (select root from commits)
),
placed as (
  select
    c.commit_sha,
    case
      when s.has_commit = 0 then 'no commit with a time'
      when s.moment is null then 'no time'
      when c.commit_sha is null then 'after the last commit'
      else 'commit'
    end as basis,
    c.repository, c.branch, c.committed_at,
    s.has_row, s.cost_usd, s.grain, s.total_tokens, s.lines_added, s.lines_removed, s.test_outcome
  from spans s
  left join commits c
    on c.root = s.root and c.span = s.span and s.moment is not null
)
select
  commit_sha,
  basis,
  repository,
  branch,
  committed_at,
  -- Whole nano-dollars add up to the same sum in any order.
  sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
  count(*) filter (where cost_usd is null and grain is not null) as unpriced_responses,
  nullif(count(*) filter (where grain = 'response'), 0) as responses,
  sum(total_tokens) as total_tokens,
  sum(lines_added) as lines_added,
  sum(lines_removed) as lines_removed,
  count(test_outcome) as test_runs
from placed
group by commit_sha, basis, repository, branch, committed_at
having sum(has_row) > 0
order by committed_at desc nulls last, commit_sha nulls last, basis, repository nulls last, branch nulls last
