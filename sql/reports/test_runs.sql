-- name: test_runs
-- title: Test runs
-- group: Tools -- how test runs ended
-- about: How often the agents ran tests and how these runs ended, by project and runner, most runs first. A red streak is one
-- about: or more failed runs in a row, in a session and its subagents, that end with a run that passes.
-- note: A failed run need not be a mistake: tests that are written before the code fail at first. Runs by a person or a server
-- note: are not in the files.
-- param: since timestamp = null -- Only runs from this time on.
-- param: until timestamp = null -- Only runs before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: project -- Short name of the project; null if the agent recorded none.
-- column: runner -- The last program of the command that ran tests, as the command names it, or `other`; null if the lake holds no commands.
-- column: runs -- Calls that ran tests. Count.
-- column: sessions -- Sessions that ran tests; a subagent's session counts as part of its parent. Count.
-- column: passed -- Runs that passed. Count.
-- column: failed -- Runs that failed. Count.
-- column: unknown -- Runs that ended in an unknown way. Count.
-- column: red_streaks -- Red streaks, counted at the runner of their last failed run. Count.
-- column: red_usd -- Cost of the responses between the failed runs of red streaks and the next run; null if none has a price. USD.
-- show: project, runner, runs, passed, failed, unknown, red_streaks, red_usd as cost while red, sessions
-- total: sum of runs, passed, failed, unknown, red_streaks, red_usd
with runs as (
  select
    s.machine, s.agent, s.root_session_id, s.project, s.started_at as session_started_at,
    t.session_id, t.seq, t.started_at, t.test_outcome,
    -- A program in command position, after assignments, options and programs that run another one. The last one counts.
    regexp_replace(
      t.command,
      '(?s)^(?:.*[;&|\n(`])?\s*'
        || '(?:(?:\w+=\S*|(?:--filter|-F|-C|--prefix|--workspace|--cwd|--with|-u|-W)\s+\S+|[-+]\S+|\d\S*|[\\!\{]'
        || '|if|then|else|elif|while|until|do|time|sudo|env|command|exec|nohup|nice|timeout|stdbuf|eval|rtk|run|dlx'
        || '|(?:[^\s;&|]*/)?(?:python[0-9.]*|npx|bunx|pnpx|uvx?|poetry|pipenv|hatch|rye|pdm|coverage|bundle|cargo|npm|pnpm|yarn'
        || '|sh|bash|zsh|dash))\s+)*'
        || '["'']?(?:[^\s;&|]*/)?(?:'
        || '(pytest|unittest|tox|nox|nextest|gotestsum|jest|vitest|mocha|rspec|phpunit|ctest|bats)(?:[\s;&|<>)"''].*)?'
        || '|(cargo|go|npm|pnpm|yarn|bun|deno|node|dotnet|mvnw?|gradlew?|mix|swift|xcodebuild|make|just|mise|rake|nx|turbo|playwright)'
        || '\s(?:[^;&|\n]*[^a-zA-Z;&|\n])?(?:test|spec).*)$',
      '|\1\2'
    ) as program
  from tool_calls t
  join sessions s on s.machine = t.machine and s.agent = t.agent and s.session_id = t.session_id
  where t.test_outcome is not null
    and ($project is null or s.project = $project)
    and ($agent is null or t.agent = $agent)
),
failing as (
  select distinct machine, agent, root_session_id from runs where test_outcome = 'failed'
),
events as (
  select
    r.machine, r.agent, r.root_session_id, r.session_id, r.seq, r.started_at as moment, 1 as is_run, r.test_outcome,
    cast(null as double) as cost_usd
  from runs r
  join failing f on f.machine = r.machine and f.agent = r.agent and f.root_session_id = r.root_session_id
  where r.test_outcome <> 'unknown' and r.started_at is not null
  union all
  select
    s.machine, s.agent, s.root_session_id, cast(null as text), cast(null as bigint), u.timestamp, 0, cast(null as text),
    u.cost_usd
  from usage u
  join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
  join failing f on f.machine = s.machine and f.agent = s.agent and f.root_session_id = s.root_session_id
  where u.timestamp is not null
),
spans as (
  select
    e.*,
    sum(e.is_run) over (
      partition by e.machine, e.agent, e.root_session_id
      order by e.moment asc nulls last, e.is_run asc nulls last, e.session_id asc nulls last, e.seq asc nulls last
      rows between unbounded preceding and current row
    ) as span
  from events e
),
by_run as (
  select
    machine, agent, root_session_id, span,
    max(session_id) as session_id,
    max(seq) as seq,
    max(test_outcome) as outcome,
    sum(round(cost_usd * 1e9)) as nanos
  from spans
  where span > 0
  group by machine, agent, root_session_id, span
),
streaks as (
  select
    b.*,
    lead(b.outcome) over (partition by b.machine, b.agent, b.root_session_id order by b.span asc nulls last) as next_outcome,
    max(case when b.outcome = 'passed' then b.span end) over (
      partition by b.machine, b.agent, b.root_session_id
    ) as last_passed
  from by_run b
)
select
  r.project,
  case when strpos(r.program, '|') = 1 then substr(r.program, 2) when r.program is not null then 'other' end as runner,
  count(*) as runs,
  count(distinct r.machine || '/' || r.agent || '/' || r.root_session_id) as sessions,
  count(*) filter (where r.test_outcome = 'passed') as passed,
  count(*) filter (where r.test_outcome = 'failed') as failed,
  count(*) filter (where r.test_outcome = 'unknown') as unknown,
  count(*) filter (where s.outcome = 'failed' and s.next_outcome = 'passed') as red_streaks,
  sum(case when s.outcome = 'failed' and s.span < s.last_passed then s.nanos end) / 1e9 as red_usd
from runs r
left join streaks s
  on s.machine = r.machine and s.agent = r.agent and s.session_id = r.session_id and s.seq = r.seq
where ($since is null or r.started_at >= $since or (r.started_at is null and r.session_started_at >= $since))
  and ($until is null or r.started_at < $until or (r.started_at is null and r.session_started_at < $until))
group by r.project, runner
order by runs desc nulls last, r.project nulls last, runner nulls last
