-- name: model_downgrades
-- needs: array_length(models) >= 2
-- title: A cheaper model took over unasked
-- about: Places where the main thread of a session continues with a cheaper model that the person did not choose: in the
-- about: middle of a turn, or at a prompt after a failed request. Agents do so when a limit is reached or a model is
-- about: overloaded. A change at any other prompt counts as the person's choice, because not all agents record how it was
-- about: made. So does a change whose requests ask for the cheaper model. So does a change after a command, after a plan
-- about: (some agents plan with one model and work with another), or after a skill, command or mode that the agent called
-- about: (each may name a model).
-- about: The price level of a model comes from the cost of its responses, or from its name if that is unknown. If neither
-- about: says anything, the model is compared with no other.
-- about: The cheaper model wastes no money, so tokens and cost are null. Severity is medium from 10 responses on, high
-- about: from 50.
-- todo: Set the model explicitly, and check the limits of your plan.
-- habit: cheaper models that took over unasked
-- param: min_responses int = 2 -- Fewest responses of the cheaper model in a row. Count.
-- param: max_price float = 0.7 -- Highest price of a cheaper model. Share of the other model's price.
-- param: read_price float = 0.1 -- Price of a token read from a cache. Multiple of the uncached price.
-- param: short_write_price float = 1.25 -- Price of a token written to a short cache. Multiple of the uncached price.
-- param: long_write_price float = 2 -- Price of a token written to a long cache. Multiple of the uncached price.
-- param: output_price float = 5 -- Price of an output token. Multiple of the uncached price.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at, s.is_subagent
  from sessions s
  where array_length(s.models) >= 2
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
models as (
  select
    u.model,
    sum(case when u.cost_usd > 0 then u.cost_usd end) / sum(
      case when u.cost_usd > 0 then
        coalesce(u.input_tokens, 0) + coalesce(u.cache_read_tokens, 0) * $read_price
          + coalesce(u.cache_write_5m_tokens, 0) * $short_write_price
          + coalesce(u.cache_write_1h_tokens, 0) * $long_write_price
          + coalesce(u.output_tokens, 0) * $output_price
      end
    ) as price,
    case when lower(u.model) like '%nano%' or lower(u.model) like '%-lite%' then 1
         when lower(u.model) like '%haiku%' or lower(u.model) like '%flash%' or lower(u.model) like '%-mini%' then 2
         when lower(u.model) like '%opus%' or lower(u.model) like '%-pro%' or lower(u.model) like '%-large%' then 4
         when lower(u.model) like '%sonnet%' or lower(u.model) like '%gpt-%' then 3 end as tier
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.total_tokens > 0
  group by u.model
),
-- Models that the requests asked for, where that is recorded.
asked as (
  select u.machine, u.agent, u.session_id, u.response_id, max(u.requested_model) as requested_model
  from usage u
  join chosen c on c.machine = u.machine and c.agent = u.agent and c.session_id = u.session_id
  where u.requested_model is not null
  group by u.machine, u.agent, u.session_id, u.response_id
),
lines as (
  select
    m.machine, m.agent, m.session_id, m.seq, m.kind, m.model, m.message_id, m.response_id,
    sum(case when m.kind = 'prompt' then 1 else 0 end) over story as prompts,
    sum(case when m.kind = 'command' then 1 else 0 end) over story as commands,
    sum(case when m.kind = 'api_error' then 1 else 0 end) over story as failures
  from messages m
  join chosen c on c.machine = m.machine and c.agent = m.agent and c.session_id = m.session_id
  where not m.is_abandoned and (c.is_subagent or not m.is_sidechain)
  window story as (partition by m.machine, m.agent, m.session_id order by m.seq)
),
replies as (
  select
    l.machine, l.agent, l.session_id, l.seq, l.model, l.prompts, l.commands, l.failures, k.price, k.tier,
    coalesce(l.response_id, l.message_id) as response,
    a.requested_model,
    -- A name without its date asks for the model too.
    strpos(l.model, a.requested_model) = 1 as is_asked_for
  from lines l
  join models k on k.model = l.model
  left join asked a
    on a.machine = l.machine and a.agent = l.agent and a.session_id = l.session_id and a.response_id = l.response_id
  where l.kind = 'reply'
),
changes as (
  select
    r.*,
    lag(r.model) over thread as old_model,
    coalesce(r.model <> lag(r.model) over thread, true) as has_changed,
    lag(r.price) over thread as old_price,
    lag(r.tier) over thread as old_tier,
    r.prompts - lag(r.prompts) over thread as prompts_between,
    r.commands - lag(r.commands) over thread as commands_between,
    r.failures - lag(r.failures) over thread as failures_between
  from replies r
  window thread as (partition by r.machine, r.agent, r.session_id order by r.seq)
),
numbered as (
  select
    *,
    sum(case when has_changed then 1 else 0 end) over (
      partition by machine, agent, session_id order by seq rows between unbounded preceding and current row
    ) as run
  from changes
),
runs as (
  select
    machine, agent, session_id, run, model,
    max(price) as price,
    max(tier) as tier,
    min(seq) as first_seq,
    max(seq) as last_seq,
    count(distinct response) as responses,
    bool_or(is_asked_for) as is_asked_for,
    max(case when not is_asked_for then requested_model end) as requested_model,
    max(case when has_changed then old_model end) as old_model,
    max(case when has_changed then old_price end) as old_price,
    max(case when has_changed then old_tier end) as old_tier,
    max(case when has_changed then prompts_between end) as prompts_between,
    max(case when has_changed then commands_between end) as commands_between,
    max(case when has_changed then failures_between end) as failures_between
  from numbered
  group by machine, agent, session_id, run, model
),
placed as (
  select
    r.*,
    lag(r.first_seq) over (partition by r.machine, r.agent, r.session_id order by r.run) as old_first_seq
  from runs r
),
downgrades as (
  select *
  from placed
  where old_model is not null
    and responses >= $min_responses
    and commands_between = 0
    and not coalesce(is_asked_for, false)
    and (prompts_between = 0 or failures_between > 0)
    and case when price is null or old_price is null then tier < old_tier else price <= old_price * $max_price end
),
-- Calls after which a change of model follows the person's settings.
switches as (
  select t.machine, t.agent, t.session_id, t.seq
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where lower(replace(t.name, '_', '')) in (
    'exitplanmode', 'planexit', 'planmoderespond', 'exitspecmode', 'skill', 'slashcommand', 'switchmode', 'newtask'
  )
)
select
  'model_downgrades' as detector,
  d.agent,
  d.session_id,
  c.project,
  c.started_at,
  case when d.responses >= 50 then 'high' when d.responses >= 10 then 'medium' else 'low' end as severity,
  d.responses as occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  d.first_seq,
  d.last_seq,
  substr(d.old_model, 1, 80) || ' to ' || substr(d.model, 1, 80)
    || case when d.failures_between > 0 then ', after a failed request' else ', in the middle of a turn' end
    || coalesce(', as a fallback for ' || substr(d.requested_model, 1, 80), '') as evidence,
  'A cheaper model gave '
    || regexp_replace(reverse(regexp_replace(reverse(cast(d.responses as text)), '([0-9]{3})', '\1,', 'g')), '^,', '')
    || ' responses, and you had not asked for it. Check whether a limit was reached or the model'
    || ' was overloaded, choose the model again, and review what was done since.' as explanation,
  'measured' as basis,
  d.machine
from downgrades d
join chosen c on c.machine = d.machine and c.agent = d.agent and c.session_id = d.session_id
left join switches p
  on p.machine = d.machine and p.agent = d.agent and p.session_id = d.session_id
  and p.seq > d.old_first_seq and p.seq < d.first_seq
where p.seq is null
order by d.responses desc nulls last, c.started_at, d.agent, d.machine, d.session_id, d.first_seq
