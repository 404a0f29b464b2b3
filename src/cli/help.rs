//! Examples at the end of each command's long help.

/// `llrem --help`
pub(super) const TOP: &str = "\
Examples:
  llrem etl                                  extract what changed into the lake
  llrem query                                the list of canned queries
  llrem query cost_by_day --since 7d         what the last week cost
  llrem detect --since 7d                    what of it was wasted
  llrem sql \"select count(*) from sessions\"  any SQL

Exit codes:
  0 done · 1 failed · 2 wrong usage · 3 done, but some input was bad (etl --strict)
  4 detect --fail-on found something · 10 no lake there · 11 another etl, or upload, holds the lake
  130 interrupted";

/// `llrem etl --help`
pub(super) const ETL: &str = "\
Examples:
  llrem etl                                   every agent found in your home folder
  llrem etl --dry-run                         what would be read, and why
  llrem etl --agent claude-code --since 7d    one agent, what changed in a week
  llrem etl --home /backup/home/ada --lake ada.lake
  llrem etl --source claude-code=session.jsonl --lake one.lake
  llrem etl --quiet --wait 5m                 for a timer or a hook
  llrem etl --quiet -f json                   what was done, agent by agent, for a program

Sources that cannot be read, or have bad lines, do not stop the run; `llrem sources --bad` lists them.
With --strict the exit code is then 3. Half a line at the end of a file that was modified within the last
10 minutes does not count yet: the agent may still be writing it.

Links are followed, also out of the home: a `.claude` may lie on another disk. With --home, what they lead to
outside of it is only read if it belongs to the owner of that home.";

/// `llrem sql --help`
pub(super) const SQL: &str = "\
Examples:
  llrem sql \"select project, sum(cost_usd) as usd from sessions group by project order by usd desc nulls last\"
  llrem sql --file report.sql -f json         a query from a file, rows as JSON
  echo 'select * from runs' | llrem sql
  llrem sql 'select * from usage' -o usage.parquet
  llrem sql                                   a shell, on a terminal; `\\?` lists its commands
  llrem sql --limit off 'select * from runs'  every row, also on a terminal

Tables: sessions, messages, tool_calls, usage, sources, runs, prices, findings; `llrem schema` describes them.
Queries only read. Moments are shown in the session's time zone (--timezone); the lake stores UTC.";

/// `llrem query --help`
pub(super) const QUERY: &str = "\
Examples:
  llrem query                                  the list, with parameters
  llrem query cost_by_day --since monday
  llrem query cost_by_project --since 2026-01-01 --until 2026-01-31 -f markdown
  llrem query cache_hit_rate --param project=website
  llrem query cost_by_model --explain          what it answers, parameters, columns
  llrem query cost_by_model --show             its text, to run it elsewhere
  llrem query cost_by_model --show -f spark    its text in Spark's dialect, as Sail has it

--since, --until, --project and --agent set the parameters of these names.
--until includes the day that it names: --since monday --until yesterday leaves out today.
Your own queries: name their folders under `query_folders` in the configuration.";

/// `llrem detect --help`
pub(super) const DETECT: &str = "\
Examples:
  llrem detect                                 everything, the most expensive first
  llrem detect --since 7d --project website
  llrem detect tool_retry_loops cache_misses --min-cost 0.10
  llrem detect error_cascades --param min_run=5
  llrem detect --fail-on high --quiet          for a nightly job: exit code 4 when something is found
  llrem detect --explain cache_misses          what it looks for
  llrem sql \"select detector, sum(wasted_cost_usd) from findings group by detector\"

A session's findings count each of its dollars once: a response that several findings name counts for the one that wastes
most of it, and `alone_cost_usd` holds what a finding wastes when looked at alone. Detectors that `llrem query` lists as off
(`overqualified_model`) run only when they are named. `basis` says whether the waste is what responses cost, or an estimate.
Your own detectors: SQL files in a folder `detectors` within one of `query_folders` of the configuration.";

/// `llrem schema --help`
pub(super) const SCHEMA: &str = "\
Examples:
  llrem schema                 every table
  llrem schema usage           one table
  llrem schema -f markdown     for a document
  llrem schema -f duckdb -o lake.sql     the lake's tables for a session of DuckDB: duckdb -init lake.sql
  llrem schema -f spark -o lake.sql      the same for Spark's dialect, as Sail has it

With -f duckdb, sessions, messages, tool_calls, usage and findings are views over the lake's files, which show what
later runs add; runs, sources and prices are copies of the moment. The session's time zone is llrem's.
With -f spark, there are views of the first four only, as statements for spark.sql(…).";

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

`expiring` counts the sources that their agent will delete within 7 days, judged by their age and the agent's
default retention; `llrem etl` keeps their rows.";

/// `llrem upload --help`
pub(super) const UPLOAD: &str = "\
Examples:
  llrem upload s3://team-lake/llrem                    without secrets and personal data
  llrem upload s3://team-lake/llrem --dry-run          what would leave: put or delete, path, bytes
  llrem upload gs://team-lake/llrem --profile metrics  counts, times and tokens only
  llrem upload file:///mnt/backup/lake --profile full  everything, into a folder

Only what changed since the last upload is put; what is no longer in the lake is removed. Each machine has its own files,
so that a team uploads to one URL, and `<URL>/<table>/**/*.parquet` is right for every reader at any moment.
Credentials come from where the cloud's own tools take them: AWS_ACCESS_KEY_ID, AWS_PROFILE, GOOGLE_APPLICATION_CREDENTIALS,
AZURE_STORAGE_ACCOUNT_NAME, and so on. Endpoint, region and the like: [storage] in the configuration.";

/// `llrem report --help`
pub(super) const REPORT: &str = "\
Examples:
  llrem report                                 llrem-report.html in the current folder
  llrem report --since 30d -o month.html
  llrem report --project website --agent codex -o website.html
  llrem --lake s3://team-lake/llrem report -o team.html
  llrem report | gzip > report.html.gz         into a pipe, the page goes to stdout

The page has no script and loads nothing. What transcripts say in it (titles, commands, names of files) is escaped, but it
is there: share the page as you would share the lake. Its figures are those of `llrem query` and `llrem detect`.
Without -o, a file llrem-report.html that is no such page is not replaced.";

/// `llrem verify --help`
pub(super) const VERIFY: &str = "\
Examples:
  llrem verify                 files, sizes and counts against the manifest
  llrem verify --read-data     every row, too

Prints one row for each problem; the exit code is 1 when there is any. `_llrem/lock` is not checked: nothing
depends on what is in it.";

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
