-- name: output_by_project
-- title: What each project got for its cost
-- group: Cost -- what each project got for its cost
-- about: Lines, commits, pull requests and test runs of each project next to its cost, most expensive first. A project whose
-- about: agents record no usage has no cost.
-- note: Only what the agents did is counted: commits by a person and tests on a server are not in the files. Most
-- note: lines that commands change are not counted, and a line that is edited twice counts twice. More is not better.
-- param: min_count int = 20 -- Fewest lines, commits or test runs for a cost of each. Count.
-- param: skip text = '|package-lock.json|pnpm-lock.yaml|yarn.lock|bun.lock|Cargo.lock|poetry.lock|uv.lock|go.sum|Gemfile.lock|composer.lock|.snap|.map|' -- Names and extensions of generated files, whose lines do not count.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: edits -- Calls that changed a file and did not fail; of commands, those that record how many lines. Count.
-- column: files -- Different files of these calls; commands often record none. Count.
-- column: lines_added -- Lines that these calls added; null if none says. Count.
-- column: lines_removed -- Lines that these calls removed; null if none says. Count.
-- column: edits_without_lines -- Of `edits`, calls that do not say how many lines they changed; generated files are left out. Count.
-- column: commits -- Different commits that calls made. Count.
-- column: pull_requests -- Different pull requests that calls opened. Count.
-- column: test_runs -- Calls that ran tests. Count.
-- column: passed_runs -- Test runs that passed. Count.
-- column: failed_runs -- Test runs that failed. Count.
-- column: usd_per_100_lines -- cost_usd for each 100 lines added; null for few. USD.
-- column: usd_per_commit -- cost_usd for each commit; null for few commits. USD.
-- column: usd_per_passed_run -- cost_usd for each test run that passed; null for few. USD.
-- show: project, cost_usd, lines_added, lines_removed, commits, pull_requests, test_runs, passed_runs as passed,
-- show: usd_per_100_lines as per 100 lines, usd_per_commit as per commit, usd_per_passed_run as per passed run,
-- show: edits, files, failed_runs as failed, edits_without_lines
-- total: sum of cost_usd, edits, files, lines_added, lines_removed, edits_without_lines, commits, pull_requests, test_runs, passed_runs, failed_runs
with costs as (
  select
    s.project,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(u.cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where u.cost_usd is null) as unpriced_responses
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  where ($since is null or u.timestamp >= $since or (u.timestamp is null and s.started_at >= $since))
    and ($until is null or u.timestamp < $until or (u.timestamp is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or u.agent = $agent)
  group by s.project
),
calls as (
  select
    t.*,
    t.status = 'ok' and (t.category in ('edit', 'write') or coalesce(t.lines_added, t.lines_removed) is not null) as is_edit,
    coalesce(
      strpos($skip, '|' || regexp_replace(t.file_path, '^.*[/\\]', '') || '|') > 0
        or strpos($skip, '|' || regexp_replace(t.file_path, '^.*[.]', '.') || '|') > 0,
      false
    ) as is_generated
  from tool_calls t
),
work as (
  select
    s.project,
    count(*) filter (where t.is_edit) as edits,
    count(distinct case when t.is_edit then t.file_path end) as files,
    sum(case when t.is_edit and not t.is_generated then t.lines_added end) as lines_added,
    sum(case when t.is_edit and not t.is_generated then t.lines_removed end) as lines_removed,
    count(*) filter (
      where t.is_edit and t.lines_added is null and t.lines_removed is null and not t.is_generated
    ) as edits_without_lines,
    count(distinct t.commit_sha) as commits,
    count(distinct case when array_contains(t.git_operations, 'pr_create') then t.pull_request end) as pull_requests,
    count(t.test_outcome) as test_runs,
    count(*) filter (where t.test_outcome = 'passed') as passed_runs,
    count(*) filter (where t.test_outcome = 'failed') as failed_runs
  from calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where ($since is null or t.started_at >= $since or (t.started_at is null and s.started_at >= $since))
    and ($until is null or t.started_at < $until or (t.started_at is null and s.started_at < $until))
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
  group by s.project
)
select
  coalesce(c.project, w.project) as project,
  c.cost_usd,
  coalesce(c.unpriced_responses, 0) as unpriced_responses,
  coalesce(w.edits, 0) as edits,
  coalesce(w.files, 0) as files,
  w.lines_added,
  w.lines_removed,
  coalesce(w.edits_without_lines, 0) as edits_without_lines,
  coalesce(w.commits, 0) as commits,
  coalesce(w.pull_requests, 0) as pull_requests,
  coalesce(w.test_runs, 0) as test_runs,
  coalesce(w.passed_runs, 0) as passed_runs,
  coalesce(w.failed_runs, 0) as failed_runs,
  case when w.lines_added >= $min_count then round(c.cost_usd * 100 / nullif(w.lines_added, 0), 4) end as usd_per_100_lines,
  case when w.commits >= $min_count then round(c.cost_usd / nullif(w.commits, 0), 4) end as usd_per_commit,
  case when w.passed_runs >= $min_count then round(c.cost_usd / nullif(w.passed_runs, 0), 4) end as usd_per_passed_run
from costs c
full join work w on coalesce(w.project, '') = coalesce(c.project, '')
where c.unpriced_responses is not null or w.edits + w.commits + w.pull_requests + w.test_runs > 0
order by cost_usd desc nulls last, project nulls last
