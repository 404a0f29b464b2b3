//! Help: the commands by group, and the examples of each.

use std::fmt::Write as _;

use clap::Command;

/// Commands by what one wants, in the order of a first day. Others are in the last group.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Collect", &["etl", "schedule", "status", "agents", "sources", "doctor"]),
    ("Ask", &["query", "detect", "show", "search", "sql", "schema", "report"]),
    ("Share", &["upload", "verify"]),
    ("More", &["demo", "completions", "man"]),
];

/// Text below the list of commands.
const COMMON: &str = "\
Options (with every command):
  --lake DIR|URL       Another lake
  -f, --format FORMAT  table, csv, json (--json), jsonl, md, parquet, arrow
  -o, --output FILE    Write to FILE; its suffix gives the format
  --timezone TZ        Such as Europe/Berlin [default: the system's]
  -q, --quiet          No summary, no warnings, no progress
  -h, --help           Help; with a command, the help of the command
  -V, --version        The version

Start:
  llrem etl                read this machine's sessions (seconds)
  llrem                    what you spent, and on what
  llrem query              what you can ask
  llrem detect --since 7d  what was wasted

`llrem COMMAND --help` has examples. All options: llrem help options
Exit codes: llrem help exit-codes
";

/// `llrem help options`
const OPTIONS: &str = "\
Options of every command, before or after its name:

  --lake DIR|URL       The lake's folder or URL
                       [default: $XDG_DATA_HOME/llrem/lake] [env: LLREM_LAKE]
  --config FILE        The configuration
                       [default: $XDG_CONFIG_HOME/llrem/config.toml]
                       [env: LLREM_CONFIG]
  -f, --format FORMAT  table, csv, json, jsonl, md, parquet or arrow
                       [default: table on a terminal, csv in a pipe]
  --json               Short for --format json
  -o, --output FILE    Write the result to FILE; its suffix gives the format
  --safe-csv           Put ' before texts in CSV that a spreadsheet would run
  --timezone TZ        Time zone of shown times and of days that you type
                       [default: the system's] [env: LLREM_TIMEZONE]
  -q, --quiet          Print no summary, no warnings and no progress
  -v, --verbose        Print more details
  --no-progress        Show no progress bar
  --color WHEN         auto, always or never [default: auto]
";

/// `llrem help exit-codes`
const EXIT_CODES: &str = "\
Exit codes:

  0    done
  1    failed; the lake is as it was unless the message says otherwise;
       or doctor or verify found a problem
  2    wrong usage, or a name that does not exist
  3    done, but some input was bad (etl --strict)
  4    detect --fail-on found something
  10   no lake there
  11   another etl, upload or detect --new holds the lake
       (etl --wait 5m waits)
  130  interrupted
";

/// Returns the text of `llrem help TOPIC`, for topics that are no commands.
pub(super) fn topic(name: &str) -> Option<&'static str> {
    match name {
        "options" => Some(OPTIONS),
        "exit-codes" => Some(EXIT_CODES),
        _ => None,
    }
}

/// Returns the help of the program: its commands by group.
pub(super) fn top(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}.\n\nUsage: llrem [COMMAND] [OPTIONS]\n");
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
    let widest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let is_grouped = |name: &&str| GROUPS.iter().any(|(_, members)| members.contains(name));
    for (at, (group, members)) in GROUPS.iter().enumerate() {
        let known = members.iter().filter(|name| names.contains(name));
        let others = names.iter().filter(|name| at + 1 == GROUPS.len() && !is_grouped(name));
        let _ = writeln!(text, "\n{group}:");
        for name in known.chain(others) {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(text, "  {name:widest$}  {}", about.unwrap_or_default());
        }
    }
    text + "\n" + COMMON
}

/// `llrem etl --help`
pub(super) const ETL: &str = "\
Examples:
  llrem etl                                 every agent found here
  llrem etl --dry-run                       what would be read, and why
  llrem etl --agent claude-code --since 7d  one agent, one week
  llrem etl --home /backup/home/ada --lake ada.lake
  llrem etl --source claude-code=session.jsonl --lake one.lake
  llrem etl --quiet --wait 5m               from a timer or a hook
  llrem etl --quiet -f json                 a report for programs

Sources that cannot be read, or have bad lines, do not stop the run; `llrem sources --bad` lists them. With \
--strict the exit code is then 3. An incomplete last line of a file that was modified within the last 10 minutes \
does not count: the agent may still be writing it.

llrem follows links, also out of the home: `.claude` may be on another disk. With --home, it reads files outside \
of it only if they belong to the owner of that home.";

/// `llrem sql --help`
pub(super) const SQL: &str = "\
Examples:
  llrem sql \"select project, sum(cost_usd) from sessions group by project\"
  llrem sql --file report.sql -f json         a file, as JSON
  echo 'select * from runs' | llrem sql
  llrem sql 'select * from usage' -o usage.parquet
  llrem sql                                   a shell; `\\?` lists its commands
  llrem sql --limit off 'select * from runs'  every row

Tables: sessions, messages, tool_calls, usage, sources, runs, prices, findings; `llrem schema` describes them. \
Queries only read. Times are shown in the session's time zone (--timezone); the lake stores UTC.";

/// `llrem query --help`
pub(super) const QUERY: &str = "\
Examples:
  llrem query                                the list
  llrem query cost_by_day --since monday
  llrem query cost_by_project --since 2026-01-01 --until 2026-01-31 -f md
  llrem query cache_hit_rate --param project=website
  llrem query cost_by_model --explain        what it answers
  llrem query cost_by_model --show           the SQL
  llrem query cost_by_model --show -f spark  for Spark and Sail

--since, --until, --project and --agent set the parameters of these names. --until includes the day that it \
names: --since monday --until yesterday leaves out today. To add your own queries, name their folders under \
`query_folders` in the configuration.";

/// `llrem detect --help`
pub(super) const DETECT: &str = "\
Examples:
  llrem detect                         the most expensive first
  llrem detect --since 7d --project website
  llrem detect tool_retry_loops cache_misses --min-cost 0.10
  llrem detect error_cascades --param min_run=5
  llrem detect --since 1d --new --fail-on high  every night: exit code 4
  llrem detect --explain cache_misses  what it looks for
  llrem sql \"select detector, count(*) from findings group by detector\"

Findings count each dollar of a session once: a response that several findings list counts for the one that \
wastes most of it. `alone_cost_usd` holds the waste of a finding when looked at alone. `basis` says whether the \
waste is measured (the cost of responses) or estimated. `--new` reports a finding once, and again if it becomes more severe. Findings count as reported once they are \
printed; the lake keeps which. Detectors that `llrem detect --explain` lists as off \
(`overqualified_model`) run only when you name them. To add your own detectors, put SQL files into a folder \
`detectors` in one of the `query_folders` of the configuration.";

/// `llrem show --help`
pub(super) const SHOW: &str = "\
Examples:
  llrem show 53ea1606                        read a session, in a pager
  llrem show 53ea1606 --at 153               begin at a finding
  llrem show 53ea1606 --at 153 -n 20         20 messages and calls from there
  llrem show 53ea1606 --thinking --outputs   with everything that is folded
  llrem show 11110000/ag000003               read a subagent
  llrem show 53ea1606 --html session.html    write a page
  llrem show 53ea1606 -f markdown            write Markdown
  llrem show 53ea1606 -f json                messages and tool calls as rows

A session is named by its id or the beginning of it, with or without the agent's
prefix. Numbers at the left are positions (`seq`): --at takes them.
The pager is LLREM_PAGER, PAGER or `less -FRX`; `cat` switches it off.
A page has no script and loads nothing. It holds texts from the transcript.";

/// `llrem search --help`
pub(super) const SEARCH: &str = "\
Examples:
  llrem search npm publish               both words in one message or call
  llrem search \"npm publish\"           the phrase
  llrem search -e 'npm (publish|pack)'   a regular expression
  llrem search npm publish --since 30d   the last 30 days
  llrem search npm publish --hits 5      the five best hits of each session
  llrem search npm publish -f json       rows

Case is ignored. Words are found at the beginning of a word: `publish` finds
Publishing, not unpublished. In scripts without spaces between words they are
found anywhere.
Words next to each other come first; prompts and replies before commands,
commands before output, texts that the agent added last; then the newest.";

/// `llrem schema --help`
pub(super) const SCHEMA: &str = "\
Examples:
  llrem schema                        all tables
  llrem schema usage                  one table
  llrem schema -f md                  for a document
  llrem schema -f duckdb -o lake.sql  for duckdb -init lake.sql
  llrem schema -f spark -o lake.sql   for Spark and Sail

With -f duckdb, sessions, messages, tool_calls, usage and findings are views over the lake's files, which also \
show the rows of later runs; runs, sources and prices are copies from now. The session's time zone is llrem's. \
With -f spark, there are only views of the first four, as statements for spark.sql(…).";

/// `llrem sources --help`
pub(super) const SOURCES: &str = "\
Examples:
  llrem sources
  llrem sources --bad
  llrem sources --unknown          # safe to attach to a report
  llrem sources -f json -o sources.json";

/// `llrem agents --help`
pub(super) const AGENTS: &str = "\
Examples:
  llrem agents
  llrem agents --home /backup/home/ada
  llrem agents -f json

`expiring` counts the sources that their agent will delete within 7 days, by their age and the agent's default \
retention; `llrem etl` keeps their rows.";

/// `llrem upload --help`
pub(super) const UPLOAD: &str = "\
Examples:
  llrem upload s3://team-lake/llrem                    without secrets
  llrem upload s3://team-lake/llrem --dry-run          what would be sent
  llrem upload gs://team-lake/llrem --profile metrics  only figures
  llrem upload file:///mnt/backup/lake --profile full  everything

llrem uploads what changed since the last upload, and deletes what is no longer in the lake. Each machine has \
its own files, so a team can upload to one URL, and `<URL>/<table>/**/*.parquet` is right for every reader at \
any moment. Credentials come from where the cloud's own tools take them: AWS_ACCESS_KEY_ID, AWS_PROFILE, \
GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, and so on. Endpoint and region are set under \
[storage] in the configuration.";

/// `llrem report --help`
pub(super) const REPORT: &str = "\
Examples:
  llrem report                          llrem-report.html: the last whole month
  llrem report --all -o all.html        all that the lake has
  llrem report --since 30d -o month.html
  llrem report --project website --agent codex -o website.html
  llrem --lake s3://team-lake/llrem report -o team.html
  llrem report | gzip > report.html.gz  the page in a pipe

The page has no script and loads nothing. It contains texts from transcripts (titles, commands, names of files), \
which are escaped: share the page only with people who may read the lake. Its figures come from `llrem query` \
and `llrem detect`. Without -o, llrem does not replace a file llrem-report.html that it did not write.";

/// `llrem verify --help`
pub(super) const VERIFY: &str = "\
Examples:
  llrem verify              files, sizes and counts
  llrem verify --read-data  every row, too

Prints one row for each problem; the exit code is 1 if there is any. `_llrem/lock` is not checked, because \
nothing depends on its content.";

/// `llrem status --help`
pub(super) const STATUS: &str = "\
Examples:
  llrem status
  llrem status --line   $4.12 today, as of 13:40
  llrem status -f json

`+` means at least: a response has no known price. `as of` is the end of the last `llrem etl`; what came later is \
not known. If there was none today, today's cost is unknown.";

/// `llrem doctor --help`
pub(super) const DOCTOR: &str = "\
Examples:
  llrem doctor
  llrem doctor -f json

Checks the last run, the schedule, what the agents will delete, transcripts that were deleted before llrem could \
read them, prices, versions of agents, and the lake. The exit code is 1 if there is a problem (✗); warnings (!) do \
not change it.";

/// `llrem schedule --help`
pub(super) const SCHEDULE: &str = "\
Examples:
  llrem schedule install                      every night at 03:00
  llrem schedule install --at 22:30
  llrem schedule install --upload s3://team-lake/llrem
  llrem schedule install --report ~/llrem.html
  llrem schedule status                       last and next run
  llrem schedule print --by cron              only show it
  llrem schedule run                          run it now
  llrem schedule remove

The scheduler is a timer of systemd, or else cron; launchd on macOS; the Task Scheduler on Windows. A missed night \
is made up for: cron starts the job every hour, and it ends at once unless it is due. Each run is `llrem etl --wait \
5m`, then `upload` and `report` if they are wanted; a failure ends it. The job has the lake and the configuration of \
this call, and the variables of this shell that say where agents keep their sessions, but no credentials. `status` \
ends with 1 if nothing is scheduled.";

/// `llrem demo --help`
pub(super) const DEMO: &str = "\
Examples:
  llrem demo                   a lake next to your own
  llrem demo --lake demo.lake  elsewhere
  llrem --lake ~/.local/share/llrem/demo detect

The sessions are of Claude Code, Codex and pi, over two months until today, with findings of most detectors. Without \
a lake of your own, `llrem` alone shows the demo. In a pipe, the command prints the lake's folder: after export \
LLREM_LAKE=\"$(llrem demo)\", every command of the shell reads it.

The lake is made anew if it is of another day, and only in an empty folder or in place of a demo: LLREM_LAKE and \
the configuration do not count. `llrem etl` does not write to it.";

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
