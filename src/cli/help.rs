//! Examples at the end of each command's long help.

/// `llrem --help`
pub(super) const TOP: &str = "\
Examples:
  llrem etl                                  extract what changed into the lake
  llrem query                                list the canned queries
  llrem query cost_by_day --since 7d         show what the last week cost
  llrem detect --since 7d                    show what was wasted
  llrem sql \"select count(*) from sessions\"  run any SQL

Exit codes:
  0 done · 1 failed · 2 wrong usage · 3 done, but some input was bad (etl --strict)
  4 detect --fail-on found something · 10 no lake there · 11 another etl, or upload, holds the lake
  130 interrupted";

/// `llrem etl --help`
pub(super) const ETL: &str = "\
Examples:
  llrem etl                                   read every agent found in your home folder
  llrem etl --dry-run                         list what would be read, and why
  llrem etl --agent claude-code --since 7d    read one agent's files that changed in a week
  llrem etl --home /backup/home/ada --lake ada.lake
  llrem etl --source claude-code=session.jsonl --lake one.lake
  llrem etl --quiet --wait 5m                 run from a timer or a hook
  llrem etl --quiet -f json                   report for a program what was done, agent by agent

Sources that cannot be read, or have bad lines, do not stop the run; `llrem sources --bad` lists them.
With --strict the exit code is then 3. An incomplete last line of a file that was modified within the last
10 minutes does not count: the agent may still be writing it.

llrem follows links, also out of the home: `.claude` may be on another disk. With --home, it reads files outside
of it only if they belong to the owner of that home.";

/// `llrem sql --help`
pub(super) const SQL: &str = "\
Examples:
  llrem sql \"select project, sum(cost_usd) as usd from sessions group by project order by usd desc nulls last\"
  llrem sql --file report.sql -f json         read the query from a file, print rows as JSON
  echo 'select * from runs' | llrem sql
  llrem sql 'select * from usage' -o usage.parquet
  llrem sql                                   start a shell on a terminal; `\\?` lists its commands
  llrem sql --limit off 'select * from runs'  show every row, also on a terminal

Tables: sessions, messages, tool_calls, usage, sources, runs, prices, findings; `llrem schema` describes them.
Queries only read. Times are shown in the session's time zone (--timezone); the lake stores UTC.";

/// `llrem query --help`
pub(super) const QUERY: &str = "\
Examples:
  llrem query                                  list the queries and their parameters
  llrem query cost_by_day --since monday
  llrem query cost_by_project --since 2026-01-01 --until 2026-01-31 -f markdown
  llrem query cache_hit_rate --param project=website
  llrem query cost_by_model --explain          print description, parameters and columns
  llrem query cost_by_model --show             print the text, to run it elsewhere
  llrem query cost_by_model --show -f spark    print the text in Spark's dialect, for Sail

--since, --until, --project and --agent set the parameters of these names.
--until includes the day that it names: --since monday --until yesterday leaves out today.
To add your own queries, name their folders under `query_folders` in the configuration.";

/// `llrem detect --help`
pub(super) const DETECT: &str = "\
Examples:
  llrem detect                                 list all findings, the most expensive first
  llrem detect --since 7d --project website
  llrem detect tool_retry_loops cache_misses --min-cost 0.10
  llrem detect error_cascades --param min_run=5
  llrem detect --fail-on high --quiet          run as a nightly job: exit code 4 if something is found
  llrem detect --explain cache_misses          explain a detector
  llrem sql \"select detector, sum(wasted_cost_usd) from findings group by detector\"

Findings count each dollar of a session once: a response that several findings list counts for the one that wastes most of
it. `alone_cost_usd` holds the waste of a finding when looked at alone. `basis` says whether the waste is measured (the cost
of responses) or estimated. Detectors that `llrem query` lists as off (`overqualified_model`) run only when you name them.
To add your own detectors, put SQL files into a folder `detectors` in one of the `query_folders` of the configuration.";

/// `llrem show --help`
pub(super) const SHOW: &str = "\
Examples:
  llrem show 53ea1606                       read a session, in a pager
  llrem show 53ea1606 --at 153              begin at a finding
  llrem show 53ea1606 --thinking --outputs  with everything that is folded
  llrem show 11110000/ag000003              read a subagent
  llrem show 53ea1606 --html session.html   write a page
  llrem show 53ea1606 -f markdown           write Markdown
  llrem show 53ea1606 -f json               messages and tool calls as rows

A session is named by its id or the beginning of it, with or without the agent's prefix.
Numbers at the left are positions (`seq`): --at takes them, and `/153` finds one in the pager.
The pager is LLREM_PAGER, PAGER or `less -FRX`; `cat` is none.
A page has no script and loads nothing. It holds texts from the transcript.";

/// `llrem search --help`
pub(super) const SEARCH: &str = "\
Examples:
  llrem search npm publish                  both words in one message or tool call
  llrem search \"npm publish\"              the phrase
  llrem search -e 'npm (publish|pack)'      a regular expression
  llrem search npm publish --since 30d --project website
  llrem search npm publish --hits 5         the five best hits of each session
  llrem search npm publish -f json          rows

Case is ignored. Words are found at the beginning of a word: `publish` finds Publishing, not
unpublished. In scripts without spaces between words they are found anywhere.
Words next to each other come first; prompts and replies before commands, commands before output,
texts that the agent added last; then the newest first.";

/// `llrem schema --help`
pub(super) const SCHEMA: &str = "\
Examples:
  llrem schema                 list every table
  llrem schema usage           list one table
  llrem schema -f markdown     write for a document
  llrem schema -f duckdb -o lake.sql     write the lake's tables for DuckDB: duckdb -init lake.sql
  llrem schema -f spark -o lake.sql      write the same in Spark's dialect, for Sail

With -f duckdb, sessions, messages, tool_calls, usage and findings are views over the lake's files, which also show the
rows of later runs; runs, sources and prices are copies from now. The session's time zone is llrem's.
With -f spark, there are only views of the first four, as statements for spark.sql(…).";

/// `llrem sources --help`
pub(super) const SOURCES: &str = "\
Examples:
  llrem sources
  llrem sources --bad
  llrem sources -f json -o sources.json";

/// `llrem agents --help`
pub(super) const AGENTS: &str = "\
Examples:
  llrem agents
  llrem agents --home /backup/home/ada
  llrem agents -f json

`expiring` counts the sources that their agent will delete within 7 days, by their age and the agent's default
retention; `llrem etl` keeps their rows.";

/// `llrem upload --help`
pub(super) const UPLOAD: &str = "\
Examples:
  llrem upload s3://team-lake/llrem                    upload without secrets and personal data
  llrem upload s3://team-lake/llrem --dry-run          list what would be sent: put or delete, path, bytes
  llrem upload gs://team-lake/llrem --profile metrics  upload only counts, times and tokens
  llrem upload file:///mnt/backup/lake --profile full  upload everything into a folder

llrem uploads what changed since the last upload, and deletes what is no longer in the lake. Each machine has its own files,
so a team can upload to one URL, and `<URL>/<table>/**/*.parquet` is right for every reader at any moment.
Credentials come from where the cloud's own tools take them: AWS_ACCESS_KEY_ID, AWS_PROFILE, GOOGLE_APPLICATION_CREDENTIALS,
AZURE_STORAGE_ACCOUNT_NAME, and so on. Endpoint and region are set under [storage] in the configuration.";

/// `llrem report --help`
pub(super) const REPORT: &str = "\
Examples:
  llrem report                                 write llrem-report.html into the current folder
  llrem report --since 30d -o month.html
  llrem report --project website --agent codex -o website.html
  llrem --lake s3://team-lake/llrem report -o team.html
  llrem report | gzip > report.html.gz         write the page to stdout, in a pipe

The page has no script and loads nothing. It contains texts from transcripts (titles, commands, names of files), which are
escaped: share the page only with people who may read the lake. Its figures come from `llrem query` and `llrem detect`.
Without -o, llrem does not replace a file llrem-report.html that it did not write.";

/// `llrem verify --help`
pub(super) const VERIFY: &str = "\
Examples:
  llrem verify                 check files, sizes and counts against the manifest
  llrem verify --read-data     also read every row

Prints one row for each problem; the exit code is 1 if there is any. `_llrem/lock` is not checked, because nothing
depends on its content.";

/// `llrem completions --help`
pub(super) const COMPLETIONS: &str = "\
Examples:
  llrem completions bash > ~/.local/share/bash-completion/completions/llrem
  llrem completions zsh > ~/.zfunc/_llrem
  llrem completions fish > ~/.config/fish/completions/llrem.fish";

/// `llrem man --help`
pub(super) const MAN: &str = "\
Examples:
  llrem man | man -l -
  llrem man > ~/.local/share/man/man1/llrem.1";
