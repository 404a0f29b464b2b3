-- name: cost_by_ticket
-- title: Cost by ticket
-- group: Cost -- also cost_by_agent
-- about: What each ticket cost, most expensive first, for teams that name branches after tickets. A ticket is 2 to 10
-- about: letters, a hyphen and digits in the name of the branch, such as ABC-123; of several, the first that `prefixes`
-- about: and `not_tickets` allow. Titles and prompts are not searched.
-- note: Other words have the form of a ticket too: look at `branches`, and name your own prefixes.
-- param: prefixes text = null -- Only these prefixes, such as '|ABC|WEB|'.
-- param: not_tickets text = '|WORKTREE|SHADOW|PHASE|PART|STEP|UTF|PYTHON|RELEASE|' -- Prefixes that are no tickets.
-- param: since timestamp = null -- Only from this time on.
-- param: until timestamp = null -- Only before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
-- column: ticket -- Ticket, in capitals; null for branches without one and for usage without a branch.
-- column: branches -- Number of branches with the ticket, or of those without one. Count.
-- column: example -- One of the branches with the ticket.
-- column: cost_usd -- Cost of the priced responses; null if none has a price. USD.
-- column: unpriced_responses -- Responses (or turns, sessions) without a known price, which cost_usd leaves out. Count.
-- column: sessions -- Sessions that used tokens; a subagent's session counts as part of its parent. Count.
-- column: responses -- API responses; null if the agent records only turns or sessions. Count.
-- column: total_tokens -- Input, cache reads and writes, and output. Tokens.
-- column: first_used -- When the first response began.
-- column: last_used -- When the last response began.
-- show: ticket, cost_usd, sessions, responses, total_tokens, branches, example, last_used
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
allowed as (
  select
    p.*,
    regexp_replace(
      '/' || upper(p.branch) || '/',
      '[/_-](' || trim(both '|' from regexp_replace(upper($not_tickets), '[^A-Z]+', '|', 'g')) || ')-[0-9]+',
      '/.',
      'g'
    ) as words
  from placed p
),
-- Without a match, the whole text comes back, which ends with a slash.
found as (
  select
    a.*,
    regexp_replace(
      a.words,
      '^.*?[/_-]('
        || coalesce(trim(both '|' from regexp_replace(upper($prefixes), '[^A-Z]+', '|', 'g')), '[A-Z]{2,10}')
        || ')-([0-9]+)[/_-].*$',
      '\1-\2'
    ) as found
  from allowed a
),
ticketed as (
  select f.*, case when f.found not like '%/' then f.found end as ticket
  from found f
),
by_ticket as (
  select
    ticket,
    count(distinct coalesce(repository, '') || ' ' || branch) as branches,
    min(case when ticket is not null then branch end) as example,
    -- Whole nano-dollars add up to the same sum in any order.
    sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
    count(*) filter (where cost_usd is null) as unpriced_responses,
    count(distinct root) as sessions,
    nullif(count(*) filter (where grain = 'response'), 0) as responses,
    sum(total_tokens) as total_tokens,
    min(timestamp) as first_used,
    max(timestamp) as last_used
  from ticketed
  group by ticket
)
select *
from by_ticket
order by ticket is null, cost_usd desc nulls last, ticket nulls last
