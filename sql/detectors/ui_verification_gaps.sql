-- name: ui_verification_gaps
-- needs: prompts > 0 and tool_calls >= $min_edits and not is_subagent
-- title: Something visual was asked for, and nobody looked
-- about: Turns of a person's session in which the prompt asks (in English) to look at, check or see something visual,
-- about: files of a user interface were edited, and nothing looked at the result before the next prompt. Looking means a
-- about: browser, a simulator, a device or a screenshot (used by a tool of the session, by a subagent that it called, by a
-- about: command, or by a script that the agent wrote for it), or reading an image. What the person reports to have seen,
-- about: paths, code, logs and tests are no request to look. Edits of tests, and turns that the person interrupted, do not
-- about: count.
-- about: No money is known to be lost, so tokens and cost are null.
-- about: Severity is medium if the person answered with an image (and so had to look themselves), or from 5 edits on.
-- todo: Give the agent a browser tool, and tell it to use it.
-- habit: visual changes that nobody looked at
-- param: min_edits int = 1 -- Fewest edits of user interface files in the turn. Count.
-- param: since timestamp = null -- Only sessions that were active at this time or later.
-- param: until timestamp = null -- Only sessions that started before this time.
-- param: project text = null -- Only this project.
-- param: agent text = null -- Only this agent.
with chosen as (
  select s.machine, s.agent, s.session_id, s.project, s.started_at
  from sessions s
  where s.prompts > 0
    and s.tool_calls >= $min_edits
    and not s.is_subagent
    and ($since is null or s.ended_at >= $since)
    and ($until is null or s.started_at < $until)
    and ($project is null or s.project = $project)
    and ($agent is null or s.agent = $agent)
),
edited as (
  select
    t.machine, t.agent, t.session_id, t.turn,
    count(*) as edits,
    min(t.seq) as first_seq,
    max(t.seq) as last_seq,
    min(t.file_path) as file_path
  from tool_calls t
  join chosen c on c.machine = t.machine and c.agent = t.agent and c.session_id = t.session_id
  where t.category in ('edit', 'write')
    and t.status = 'ok'
    and t.turn is not null
    and regexp_replace(lower(t.file_path), '^.*[.]', '') in (
      'tsx', 'jsx', 'vue', 'svelte', 'astro', 'css', 'scss', 'sass', 'less', 'styl', 'html', 'htm', 'hbs', 'ejs', 'erb',
      'haml', 'pug', 'twig', 'jinja', 'jinja2', 'liquid', 'storyboard', 'xib', 'xaml', 'qml', 'svg'
    )
    and lower(t.file_path) not like '%.test.%'
    and lower(t.file_path) not like '%.spec.%'
    and lower(t.file_path) not like '%/__tests__/%'
  group by t.machine, t.agent, t.session_id, t.turn
  having count(*) >= $min_edits
),
-- Each turn, and the one after it.
sides as (
  select *, turn as side from edited
  union all
  select *, turn + 1 as side from edited
),
-- The prompt of each turn, whether it was interrupted, and whether the next prompt came with an image.
turns as (
  select
    e.machine, e.agent, e.session_id, e.turn, e.edits, e.first_seq, e.last_seq, e.file_path,
    min(case when m.turn = e.turn and m.kind = 'prompt' then m.seq end) as prompt_seq,
    bool_or(m.turn = e.turn and m.kind = 'abort') as is_interrupted,
    bool_or(m.turn = e.turn + 1 and m.kind = 'prompt' and m.attachments > 0) as is_answered_with_image
  from sides e
  join messages m
    on m.machine = e.machine and m.agent = e.agent and m.session_id = e.session_id and m.turn = e.side
  where m.kind in ('prompt', 'abort') and not m.is_sidechain
  group by e.machine, e.agent, e.session_id, e.turn, e.edits, e.first_seq, e.last_seq, e.file_path
),
asked as (
  select
    t.machine, t.agent, t.session_id, t.turn, t.edits, t.last_seq, t.file_path, t.prompt_seq, t.is_answered_with_image,
    -- Words in lower case with one space between them, without paths and code.
    ' ' || regexp_replace(
      regexp_replace(
        lower(replace(substr(m.text, 1, 2000), '’', '''')),
        '((look at|see|check|view) +)?[^ \t\n]*([/\\`_<>={}]|[a-z0-9][.][a-z0-9])[^ \t\n]*', ' ', 'g'
      ),
      '[^a-z'']+', ' ', 'g'
    ) || ' ' as words
  from turns t
  join messages m
    on m.machine = t.machine and m.agent = t.agent and m.session_id = t.session_id and m.seq = t.prompt_seq
  where not t.is_interrupted and m.kind = 'prompt'
),
-- Removes what the person says to have seen: it is no request.
wanted as (
  select
    *,
    regexp_replace(
      words,
      ' ((i|we)(''ve|''m|''re)?( (am|are|have|can|could|did|do|don''t|can''t|not|still|also|now|just|already))*'
        || ' (see|seeing|seen|saw|look|looked|looking|check|checked|checking|verified|view|viewed)|you can see|let''s see'
        || '|looks? (good|great|nice|fine|ok|okay|perfect|better|right)) ',
      ' ', 'g'
    ) as asks
  from asked
),
-- @ marks something visible, # a word for looking, % a word for looking that counts only before something visible, and !
-- something that nobody looks at in a browser.
marked as (
  select
    *,
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(
            replace(asks, ' ', '  '),
            ' ((see|per)  (the  )?(attached|issue)|logs|tests?|function|(page|component)  (loader|parser)s?) ', ' ! ', 'g'
          ),
          ' (looks|the  look|layout|styl(e|es|ed|ing)|css|colou?rs?|theme|dark  mode|spacing|margins?|padding|align(s|ed|ment)?'
            || '|center(s|ed)?|render(s|ed|ing)?|display(s|ed)?|visual(s|ly)?|visible|screens?|screenshot|ui|design|responsive'
            || '|mobile|fonts?|overflow(s|ing)?|overlap(s|ping)?|pixels?|browser|pages?|buttons?|modals?|dialogs?|icons?'
            || '|images?|animation|hover|sidebar|navbar|header|footer|menu|tooltips?|covers?|width|height) ',
          ' @ ', 'g'
        ),
        ' (look|looking|check|view|verify|inspect|confirm|preview|take  a  @) ', ' # ', 'g'
      ),
      ' (see|ensure|make  sure) ', ' % ', 'g'
    ) as marks
  from wanted
),
requested as (
  select machine, agent, session_id, turn, edits, last_seq, file_path, prompt_seq, is_answered_with_image
  from marked
  where regexp_replace(
      marks, '^.*([#%]( +[^ !]+){0,6} +@|@( +[^ ]+){0,6} +#( +(it|them|this|that  it|how)|  *$)).*$', ''
    ) = ''
),
browsers as (
  select distinct machine, agent, session_id
  from tool_calls
  where category = 'browser' or regexp_replace(lower(name), 'screenshot|devtools|simulator|emulator|selenium', '') <> lower(name)
),
looked as (
  select distinct t.machine, t.agent, t.session_id, t.turn
  from tool_calls t
  join requested e on e.machine = t.machine and e.agent = t.agent and e.session_id = t.session_id and e.turn = t.turn
  left join browsers b on b.machine = t.machine and b.agent = t.agent and b.session_id = t.child_session_id
  where t.category = 'browser'
    or b.session_id is not null
    or regexp_replace(
      lower(t.name),
      'browser|playwright|puppeteer|chrom|devtools|selenium|webdriver|screenshot|screencap|simulator|emulator|xcodebuild'
        || '|appium|maestro|mobile|computer|preview|snapshot|view_image|viewimage|stagehand|storybook',
      ''
    ) <> lower(t.name)
    or (
      t.category = 'read'
      and regexp_replace(lower(t.file_path), '^.*[.]', '') in ('png', 'jpg', 'jpeg', 'webp', 'gif', 'bmp', 'heic', 'pdf')
    )
    or (
      t.category in ('shell', 'write', 'edit')
      and regexp_replace(
        lower(substr(coalesce(t.command, t.input), 1, 8000)),
        'playwright|puppeteer|cypress|selenium|webdriver|screenshot|screencap|headless|agent-browser|browser-use'
          || '|shot-scraper|wkhtmlto|capture-website|pageres|backstop|chromatic|percy|lighthouse|scrot |grim |import -window'
          || '|x11grab|simctl|(^|[^a-z])adb |maestro|xvfb',
        ''
      ) <> lower(substr(coalesce(t.command, t.input), 1, 8000))
    )
)
select
  'ui_verification_gaps' as detector,
  a.agent,
  a.session_id,
  c.project,
  c.started_at,
  case when a.is_answered_with_image or a.edits >= 5 then 'medium' else 'low' end as severity,
  a.edits as occurrences,
  cast(null as bigint) as wasted_tokens,
  cast(null as double) as wasted_cost_usd,
  a.prompt_seq as first_seq,
  a.last_seq,
  replace(substr(a.file_path, greatest(length(a.file_path) - 79, 1), 80), chr(10), ' ')
    || case when a.edits = 1 then ', 1 edit' else ', ' || cast(a.edits as text) || ' edits' end as evidence,
  'The prompt asked for something to be looked at, and '
    || case when a.edits = 1 then 'an edit' else cast(a.edits as text) || ' edits' end
    || ' of the user interface ended without a browser or a screenshot'
    || case when a.is_answered_with_image then '; the person had to look, and answered with an image.' else '.' end
    || ' Give the agent a browser tool, and tell it to use it.' as explanation,
  'measured' as basis,
  a.machine
from requested a
join chosen c on c.machine = a.machine and c.agent = a.agent and c.session_id = a.session_id
left join looked l
  on l.machine = a.machine and l.agent = a.agent and l.session_id = a.session_id and l.turn = a.turn
where l.session_id is null
order by
  wasted_cost_usd desc nulls last, a.edits desc nulls last, c.started_at, a.agent, a.machine, a.session_id, a.prompt_seq
