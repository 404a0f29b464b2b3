//! The command line from outside: exit code, stdout and stderr together.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/found.rs"]
mod found;
#[path = "cli/night.rs"]
mod night;
#[path = "cli/told.rs"]
mod told;
#[path = "cli/well.rs"]
mod well;

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use llrem::query::canned::{Library, Purpose};
use tempfile::TempDir;

/// A home of its own, with nothing of the user's environment.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn config(&self, text: &str) {
        self.write(".config/llrem/config.toml", text);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("llrem").unwrap();
        command.env_clear().env("HOME", self.path()).env("TZ", "UTC").current_dir(self.path()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.show(&self.command(arguments).output().unwrap())
    }

    fn show(&self, output: &Output) -> String {
        let home = self.path().to_str().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(home, "[HOME]");
        let code = output.status.code().unwrap();
        format!("exit {code}\n--- stdout\n{}--- stderr\n{}", text(&output.stdout), text(&output.stderr))
    }
}

fn run(arguments: &[&str]) -> String {
    Home::new().run(arguments)
}

fn stdout(arguments: &[&str]) -> String {
    let output = Home::new().command(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const COMMANDS: [&str; 18] = [
    "etl",
    "schedule",
    "status",
    "doctor",
    "demo",
    "sql",
    "query",
    "detect",
    "show",
    "search",
    "schema",
    "sources",
    "agents",
    "upload",
    "report",
    "verify",
    "completions",
    "man",
];

#[test]
fn short_help() {
    insta::assert_snapshot!(stdout(&["-h"]), @r"
    llrem shows what your coding agents did, what it cost, and what was wasted.

    Usage: llrem [COMMAND] [OPTIONS]

    Collect:
      etl          Read what the agents wrote since the last time into the lake
      schedule     Run etl every night
      status       Show how current the lake is, and what today cost
      agents       Show which agents are found here, and what they record
      sources      Show every file that was read; --bad: what could not be
      doctor       Check agents, lake, schedule and prices

    Ask:
      query        Answer a ready-made question; alone: the list
      detect       Show what was wasted, the most expensive first
      show         Read a session as a conversation
      search       Find text in prompts, replies, commands and tool output
      sql          Ask in SQL; alone: a shell
      schema       Show tables and columns
      report       Write one HTML page with plots

    Share:
      upload       Copy the lake to s3://, gs:// or az://, without secrets
      verify       Check that the lake is complete and consistent

    More:
      demo         Make a lake of invented sessions, to look around
      completions  Print the completion script of a shell
      man          Print the manual page

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
    ");
}

#[test]
fn etl_help() {
    insta::assert_snapshot!(stdout(&["etl", "-h"]), @r#"
    Read what the agents wrote since the last time into the lake

    Usage: llrem etl [OPTIONS]

    Options:
          --home <DIR>             Read DIR as if it were the home folder: a backup, another account
                                   [default: your own]
          --source <[AGENT=]PATH>  Read only this file or folder; may be repeated
          --agent <NAME>           Read only this agent; may be repeated; `llrem agents` lists them
          --since <WHEN>           Read only files modified since then: 7d, 2w, 1mo, 2026-01-31, monday,
                                   "last week"
          --full                   Extract every source again, changed or not
          --dry-run                List what would be read and why, and write nothing
          --redact <MODE>          Secrets to replace [default: secrets] [env: LLREM_REDACT] [possible
                                   values: secrets, strict, none]
          --content <MODE>         Keep texts, inputs and outputs, or none of them [default: full] [env:
                                   LLREM_CONTENT] [possible values: full, none]
      -j, --jobs <N>               Threads, 256 at most [default: all cores] [env: LLREM_JOBS]
          --wait <DURATION>        Wait at most this long for another `llrem etl` to end: 30s, 5m, 1h
          --strict                 Exit with 3 if some input is unreadable or partly bad
      -h, --help                   Print this help

    Examples:
      llrem etl                                 every agent found here
      llrem etl --dry-run                       what would be read, and why
      llrem etl --agent claude-code --since 7d  one agent, one week
      llrem etl --home /backup/home/ada --lake ada.lake
      llrem etl --source claude-code=session.jsonl --lake one.lake
      llrem etl --quiet --wait 5m               from a timer or a hook
      llrem etl --quiet -f json                 a report for programs

    Sources that cannot be read, or have bad lines, do not stop the run; `llrem sources --bad` lists
    them. With --strict the exit code is then 3. An incomplete last line of a file that was modified
    within the last 10 minutes does not count: the agent may still be writing it.

    llrem follows links, also out of the home: `.claude` may be on another disk. With --home, it reads
    files outside of it only if they belong to the owner of that home.

    All options: llrem help options
    "#);
}

#[test]
fn every_command_has_help_with_examples() {
    for command in COMMANDS {
        let help = stdout(&[command, "--help"]);
        assert!(help.contains("Examples:"), "{command}");
        assert!(help.contains(&format!("  llrem {command}")), "{command}");
    }
}

/// `-h` and `--help` are the same, and examples need no wrapping.
#[test]
fn help_wraps_once() {
    assert_eq!(stdout(&["-h"]), stdout(&["--help"]));
    for command in COMMANDS {
        let help = stdout(&[command, "--help"]);
        assert_eq!(help, stdout(&[command, "-h"]));
        assert!(help.ends_with("All options: llrem help options\n"), "{help}");
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| !line.is_empty());
        for example in examples {
            assert!(example.starts_with("  ") && example.len() <= 80, "{command}: {example}");
        }
    }
}

#[test]
fn options_and_exit_codes_have_help_of_their_own() {
    let options = stdout(&["help", "options"]);
    for option in llrem::cli::command().get_arguments().filter_map(clap::Arg::get_long) {
        assert!(options.contains(&format!("--{option} ")), "{option}");
    }
    assert!(stdout(&["help", "exit-codes"]).contains("\n  130  interrupted\n"));
    assert!(stdout(&["help", "etl"]).contains("llrem etl --dry-run"));
}

/// Every example of the help is one that the command line takes.
#[test]
fn examples_of_help_parse() {
    let mut checked = 0;
    for command in COMMANDS {
        let help = stdout(&[command, "--help"]);
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        for example in examples.take_while(|line| line.starts_with("  ")).filter_map(words_of_example) {
            let parsed = llrem::cli::command().try_get_matches_from(&example);
            assert!(parsed.is_ok(), "{example:?}: {}", parsed.unwrap_err());
            checked += 1;
        }
    }
    assert!(checked > 25, "{checked}");
}

/// The words after `llrem`, up to two spaces, a pipe or a redirection.
fn words_of_example(line: &str) -> Option<Vec<String>> {
    let (_, line) = line.split_once("llrem ")?;
    let line = line.split("  ").next()?.split(" | ").next()?.split(" > ").next()?;
    let mut words = vec!["llrem".to_owned()];
    for (at, part) in line.split(['"', '\'']).enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    Some(words)
}

#[test]
#[expect(clippy::too_many_lines, reason = "each case is whole")]
fn wrong_usage_is_two_lines_and_exit_2() {
    insta::assert_snapshot!(run(&["etl", "--ful"]), @r#"
exit 2
--- stdout
--- stderr
error: unexpected argument '--ful' found
hint: a similar argument exists: '--full'
"#);
    insta::assert_snapshot!(run(&["etll"]), @r#"
exit 2
--- stdout
--- stderr
error: unrecognized subcommand 'etll'
hint: a similar subcommand exists: 'etl'
"#);
    insta::assert_snapshot!(run(&["etl", "--jobs", "0"]), @r#"
exit 2
--- stdout
--- stderr
error: `--jobs <N>` takes a whole number above 0, not `0`
hint: see --help
"#);
    insta::assert_snapshot!(run(&["etl", "--since", "noon"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `noon` in --since is not a time
    hint: write 7d, 2w, 3mo, 1y, 2026-07-01, today, monday, `last week` or `this month`
    ");
    insta::assert_snapshot!(run(&["etl", "--wait", "5"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `5` is not a duration; write it as 30s, 5m, 1h or 2d
    ");
    insta::assert_snapshot!(run(&["schema", "usag"]), @r#"
exit 2
--- stdout
--- stderr
error: unknown table `usag`; did you mean `usage`?
"#);
    insta::assert_snapshot!(run(&["-f", "jsn", "schema"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `jsn` is not a format
    hint: json, jsonl? formats: table, json, jsonl, csv, md, parquet, arrow
    ");
    insta::assert_snapshot!(run(&["schema", "--timezone", "Europe/Berlim"]), @r#"
exit 2
--- stdout
--- stderr
error: unknown time zone `Europe/Berlim`; did you mean `Europe/Berlin`?
"#);
    insta::assert_snapshot!(run(&["query", "cost_by_dya"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: there is no query `cost_by_dya`
    hint: cost_by_day, cost_by_model, cost_by_week? `llrem query` lists them
    ");
    insta::assert_snapshot!(run(&["query", "cost_by_day", "--param", "projekt=x"]), @r#"
exit 2
--- stdout
--- stderr
error: `cost_by_day` takes no parameter `projekt`; did you mean `project`?
"#);
    insta::assert_snapshot!(run(&["query", "cost_by_day", "--param", "project"]), @r#"
exit 2
--- stdout
--- stderr
error: `--param project` has no value; write --param project=VALUE
"#);
    insta::assert_snapshot!(run(&["schema", "-o", "schema.xls"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `schema.xls` has no suffix of a known format; name one with -f: table, json, jsonl, csv, md, parquet, arrow
    ");
}

#[test]
fn nothing_typed_gives_no_rows_without_a_lake() {
    insta::assert_snapshot!(run(&[]), @r"
exit 0
--- stdout
period,first_day,last_day,by,name,cost_usd,unpriced_responses,wasted_cost_usd,findings,sessions,prompts
--- stderr
there is no lake yet: `llrem etl` makes one
");
}

#[test]
fn no_lake_is_exit_10() {
    insta::assert_snapshot!(run(&["sql", "select 1"]), @r#"
exit 10
--- stdout
--- stderr
error: no lake at `[HOME]/.local/share/llrem/lake`
hint: run `llrem etl` first, or name the lake with --lake
"#);
    for arguments in [["query", "cost_by_day"], ["sources", "--bad"], ["verify", "--read-data"]] {
        assert!(run(&arguments).starts_with("exit 10\n"), "{arguments:?}");
    }
}

#[test]
fn a_remote_lake_is_not_written() {
    insta::assert_snapshot!(run(&["--lake", "s3://bucket/lake", "etl"]), @r#"
exit 2
--- stdout
--- stderr
error: the lake `s3://bucket/lake` is remote: it can only be queried; `llrem upload` writes it from a lake on a local disk
"#);
}

#[test]
fn a_query_is_needed() {
    insta::assert_snapshot!(run(&["sql"]), @r#"
exit 2
--- stdout
--- stderr
error: no query; give one: llrem sql "select count(*) from sessions", or --file FILE, or a pipe
"#);
    insta::assert_snapshot!(run(&["sql", "-f", "missing.sql"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `missing.sql` is not a format
    hint: formats: table, json, jsonl, csv, md, parquet, arrow
    ");
    insta::assert_snapshot!(run(&["sql", "select 1", "-f", "jsn"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `jsn` is not a format
    hint: json, jsonl? formats: table, json, jsonl, csv, md, parquet, arrow
    ");
}

#[test]
fn schema_in_each_format() {
    insta::assert_snapshot!(stdout(&["schema", "prices"]), @r"
    table   column           type    unit  nullable  meaning
    prices  model            text    –     –         Model as priced; joins to `usage.model_key`.
    prices  provider         text    –     yes       Provider of the model.
    prices  valid_from       text    day   yes       First day of the price; null if it has none.
    prices  valid_until      text    day   yes       Day after the last one of the price; null if it is still valid.
    prices  kind             text    –     –         Kind of price. One of: input, cache_read, cache_write_5m, cache_write_1h, output, web_search.
    prices  tier             text    –     –         Tier of the requests. One of: standard, long_context, priority, flex, fast, ultrafast, batch.
    prices  threshold        bigint  –     yes       Input tokens above which the long-context price applies to the whole request.
    prices  usd_per_million  double  USD   –         Price. USD for a million tokens (for a million searches if kind is web_search).
    ");
    insta::assert_snapshot!(stdout(&["schema", "prices", "-f", "csv"]), @r#"
table,column,type,unit,nullable,meaning,values
prices,model,text,,false,Model as priced; joins to `usage.model_key`.,
prices,provider,text,,true,Provider of the model.,
prices,valid_from,text,day,true,First day of the price; null if it has none.,
prices,valid_until,text,day,true,Day after the last one of the price; null if it is still valid.,
prices,kind,text,,false,"Kind of price. One of: input, cache_read, cache_write_5m, cache_write_1h, output, web_search.","[""input"",""cache_read"",""cache_write_5m"",""cache_write_1h"",""output"",""web_search""]"
prices,tier,text,,false,"Tier of the requests. One of: standard, long_context, priority, flex, fast, ultrafast, batch.","[""standard"",""long_context"",""priority"",""flex"",""fast"",""ultrafast"",""batch""]"
prices,threshold,bigint,,true,Input tokens above which the long-context price applies to the whole request.,
prices,usd_per_million,double,USD,false,Price. USD for a million tokens (for a million searches if kind is web_search).,
"#);
    insta::assert_snapshot!(stdout(&["schema", "prices", "-f", "markdown"]), @r#"
| table | column | type | unit | nullable | meaning |
| --- | --- | --- | --- | --- | --- |
| prices | model | text |  | false | Model as priced; joins to `usage.model_key`. |
| prices | provider | text |  | true | Provider of the model. |
| prices | valid_from | text | day | true | First day of the price; null if it has none. |
| prices | valid_until | text | day | true | Day after the last one of the price; null if it is still valid. |
| prices | kind | text |  | false | Kind of price. One of: input, cache_read, cache_write_5m, cache_write_1h, output, web_search. |
| prices | tier | text |  | false | Tier of the requests. One of: standard, long_context, priority, flex, fast, ultrafast, batch. |
| prices | threshold | bigint |  | true | Input tokens above which the long-context price applies to the whole request. |
| prices | usd_per_million | double | USD | false | Price. USD for a million tokens (for a million searches if kind is web_search). |
"#);
    insta::assert_snapshot!(stdout(&["schema", "prices", "-f", "ndjson"]).lines().next().unwrap(), @r#"{"table":"prices","column":"model","type":"text","unit":null,"nullable":false,"meaning":"Model as priced; joins to `usage.model_key`.","values":null}"#);
    let whole: Vec<serde_json::Value> = serde_json::from_str(&stdout(&["schema", "-f", "json"])).unwrap();
    let tables: std::collections::BTreeSet<&str> = whole.iter().map(|row| row["table"].as_str().unwrap()).collect();
    assert_eq!(
        tables.into_iter().collect::<Vec<_>>(),
        ["findings", "messages", "prices", "runs", "sessions", "sources", "tool_calls", "usage"]
    );
    assert!(whole.iter().any(|row| row["column"] == "input_tokens" && row["unit"] == "tokens"));
}

#[test]
fn schema_for_duckdb_is_of_a_lake_that_it_can_read() {
    let home = Home::new();
    assert!(home.run(&["schema", "-f", "duckdb"]).starts_with("exit 10\n"));
    insta::assert_snapshot!(home.run(&["schema", "usag", "-f", "duckdb"]), @r#"
exit 2
--- stdout
--- stderr
error: unknown table `usag`; did you mean `usage`?
"#);
    for lake in ["lake", "agent=x/lake"] {
        let etl = home.run(&["etl", "--lake", lake, "--home", "."]);
        assert!(etl.starts_with("exit 0\n"), "{etl}");
    }
    insta::assert_snapshot!(home.run(&["schema", "--lake", "agent=x/lake", "-f", "duckdb"]), @r#"
exit 2
--- stdout
--- stderr
error: DuckDB cannot read `[HOME]/agent=x/lake/sessions`: it takes the folder `agent=x` for a partition; make a link to the lake
"#);
    let script = home.run(&["schema", "runs", "--lake", "lake", "-f", "duckdb", "--timezone", "Europe/Berlin"]);
    let lines: Vec<&str> = script.lines().skip(2).filter(|line| !line.starts_with(['-', '{'])).collect();
    assert_eq!(lines[1..4], ["set timezone = 'Europe/Berlin';", "", "create or replace table runs as"], "{script}");
    assert_eq!(script.matches("create or replace").count(), 1);
}

#[test]
fn a_result_goes_into_a_file_of_the_suffix_s_format() {
    let home = Home::new();
    for name in ["a.csv", "a.json", "a.ndjson", "a.jsonl", "a.md", "a.parquet", "a.arrow", "a.txt"] {
        assert_eq!(home.run(&["schema", "usage", "-o", name]), "exit 0\n--- stdout\n--- stderr\n", "{name}");
    }
    let read = |name: &str| std::fs::read(home.path().join(name)).unwrap();
    assert!(read("a.parquet").starts_with(b"PAR1"));
    assert!(read("a.json").starts_with(b"[\n{\"table\":\"usage\""));
    assert_eq!(read("a.ndjson"), read("a.jsonl"));
    assert!(read("a.csv").starts_with(b"table,column,type"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 8);
}

#[test]
fn a_device_is_written_in_place() {
    if cfg!(unix) {
        assert_eq!(run(&["schema", "-o", "/dev/null", "-f", "csv"]), "exit 0\n--- stdout\n--- stderr\n");
        assert!(!Path::new("/dev/null").is_file());
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let home = Home::new();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("llrem"));
    let mut child = command
        .args(["schema", "-f", "json"])
        .env_clear()
        .env("HOME", home.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
}

#[test]
fn queries_are_listed_and_shown() {
    let listed = stdout(&["query"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.first(), Some(&"name,title,kind,parameters"));
    assert!(lines.contains(&r#"cost_by_day,Cost by day,report,"since, until, project, agent""#), "{listed}");
    assert!(
        lines.contains(&r#"billing_blocks,Five-hour blocks,report,"since, until, project, agent, hours=5""#),
        "{listed}"
    );
    assert_eq!(lines.len() - 1, llrem::query::canned::Library::load(&[]).unwrap().queries.len());
    let shown = stdout(&["query", "cost-by-day", "--show"]);
    assert_eq!(shown, include_str!("../sql/reports/cost_by_day.sql"));
}

#[test]
fn a_users_queries_are_listed_too() {
    let home = Home::new();
    home.config("query_folders = ['queries']");
    home.write(".config/llrem/queries/mine.sql", "-- name: mine\n-- title: Mine\n-- about: Mine.\nselect 1");
    home.write(".config/llrem/queries/broken.sql", "-- nam: broken\nselect 1");
    let list = home.run(&["query"]);
    assert!(list.contains("mine,Mine,report,"), "{list}");
    assert!(
        list.contains("warning: `[HOME]/.config/llrem/queries/broken.sql` is no query: line 1: unknown key `nam`"),
        "{list}"
    );
    insta::assert_snapshot!(home.run(&["query", "broken"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `[HOME]/.config/llrem/queries/broken.sql`: line 1: unknown key `nam`; there are name, title, group, about, note, todo, habit, needs, scope, default, param, column, show and total
    ");
}

#[test]
fn however_many_threads_are_asked_for_a_run_ends() {
    let home = Home::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/worked-example/home");
    let made = home.command(&["etl", "--jobs", "1000000000", "--home", example.to_str().unwrap()]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn a_changed_price_changes_what_was_counted_with_it() {
    let home = home_with_lake();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/worked-example/home");
    let cost = |home: &Home| rows(home, &["sql", "select sum(cost_usd) as usd from usage"])[0]["usd"].as_f64().unwrap();
    let before = cost(&home);
    let model = rows(&home, &["sql", "select model_key from usage where cost_usd > 0 limit 1"]);
    let model = model[0]["model_key"].as_str().unwrap();
    let price = format!("[[price]]\nmodels = ['{model}']\ninput = 1000\noutput = 1000\n");
    home.write("prices.toml", &price);
    home.config(&format!("prices = '{}'", home.path().join("prices.toml").display()));
    home.run(&["etl", "--home", example.to_str().unwrap()]);
    assert!(cost(&home) > 10.0 * before, "{before} {}", cost(&home));
    home.write("prices.toml", "[[price]]\nmodels = 3\n");
    let refused = home.command(&["etl", "--home", example.to_str().unwrap()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", home.show(&refused));
}

#[test]
fn a_new_price_reaches_sessions_that_only_the_lake_still_has() {
    let home = Home::new();
    let reply = |session: &str| {
        let usage = r#"{"input_tokens":100,"output_tokens":50}"#;
        format!(
            r#"{{"type":"assistant","uuid":"{session}-1","sessionId":"{session}","timestamp":"2026-01-02T10:00:00Z","message":{{"id":"msg_{session}","role":"assistant","model":"house-model","content":[{{"type":"text","text":"hi"}}],"usage":{usage}}}}}"#
        ) + "\n"
    };
    home.write(".claude/projects/-api/gone.jsonl", &reply("gone"));
    home.write(".claude/projects/-api/here.jsonl", &reply("here"));
    let said = home.run(&["etl", "--home", "."]);
    assert!(said.contains("\n– no price is known for house-model (2 responses)\n"), "{said}");
    std::fs::remove_file(home.path().join(".claude/projects/-api/gone.jsonl")).unwrap();
    let price = |input: u32| {
        home.write("prices.toml", &format!("[[price]]\nmodels = ['house-model']\ninput = {input}\noutput = 2000\n"));
    };
    home.config(&format!("prices = '{}'", home.path().join("prices.toml").display()));
    let costs = || {
        let sql = "select s.session_id, u.cost_usd, s.cost_usd as of_session, u.model_key, u.gone_at, s.total_tokens \
                   from usage u join sessions s using (session_id) order by 1";
        rows(&home, &["sql", sql])
    };
    for input in [1000, 5000] {
        price(input);
        home.run(&["etl", "--home", "."]);
        let cost = (f64::from(input) * 100.0 + 2000.0 * 50.0) / 1e6;
        let expected = |session| {
            serde_json::json!({"session_id": session, "cost_usd": cost, "of_session": cost, "model_key": "house-model",
                "gone_at": null, "total_tokens": 150})
        };
        assert_eq!(costs(), [expected("gone"), expected("here")]);
        assert!(home.run(&["verify"]).starts_with("exit 0\n"));
    }
    let idle = home.run(&["etl", "-v", "--home", "."]);
    assert!(idle.contains("wrote 0 files"), "{idle}");
}

#[test]
fn what_has_no_time_of_its_own_counts_with_its_session() {
    let home = Home::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aider/worked-example/home");
    home.run(&["etl", "--home", example.to_str().unwrap()]);
    let timeless = rows(&home, &["sql", "select count(*) as n from tool_calls where started_at is null"]);
    assert!(timeless[0]["n"].as_i64().unwrap() > 0, "the example has calls without a time");
    for query in ["totals", "tool_use", "most_edited_files", "cost_by_agent", "cost_by_day"] {
        let all = rows(&home, &["query", query]);
        assert!(!all.is_empty(), "{query}");
        assert_eq!(rows(&home, &["query", query, "--since", "2000-01-01", "--until", "2100-01-01"]), all, "{query}");
        let none = rows(&home, &["query", query, "--since", "2099-01-01"]);
        assert!(query == "totals" || none.is_empty(), "{query}: {none:?}");
    }
}

#[test]
fn flags_go_before_environment_before_file_before_default() {
    let home = Home::new();
    let lake = |arguments: &[&str], variable: Option<&str>| {
        let mut command = home.command(arguments);
        command.args(["sources"]);
        if let Some(value) = variable {
            command.env("LLREM_LAKE", value);
        }
        let shown = home.show(&command.output().unwrap());
        shown.lines().find_map(|line| line.strip_prefix("error: no lake at ")).unwrap().to_owned()
    };
    assert_eq!(lake(&[], None), "`[HOME]/.local/share/llrem/lake`");
    home.config("lake = '~/of-file'");
    assert_eq!(lake(&[], None), "`[HOME]/of-file`");
    assert_eq!(lake(&[], Some("of-env")), "`of-env`");
    assert_eq!(lake(&["--lake", "of-flag"], Some("of-env")), "`of-flag`");
    home.write("other.toml", "lake = 'of-other'");
    assert_eq!(lake(&["--config", "other.toml"], None), "`of-other`");
}

#[test]
fn the_file_may_name_the_format() {
    let home = Home::new();
    home.config("format = 'ndjson'");
    assert!(home.run(&["schema", "prices"]).contains("{\"table\":\"prices\""));
    assert!(home.run(&["schema", "prices", "--format", "csv"]).contains("prices,model,text"));
}

#[test]
fn a_wrong_configuration_is_told() {
    let home = Home::new();
    home.config("lak = 'x'");
    insta::assert_snapshot!(home.run(&["schema"]), @r#"
exit 2
--- stdout
--- stderr
error: unknown key `lak` in `[HOME]/.config/llrem/config.toml`; did you mean `lake`?
"#);
    home.config("jobs = ");
    insta::assert_snapshot!(home.run(&["schema"]), @r#"
exit 2
--- stdout
--- stderr
error: the configuration `[HOME]/.config/llrem/config.toml` is wrong: line 1: string values must be quoted, expected literal string
"#);
    home.config("format = 'xml'");
    insta::assert_snapshot!(home.run(&["schema"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `xml` is not a format
    hint: formats: table, json, jsonl, csv, md, parquet, arrow
    ");
    home.config("redact = 'all'");
    insta::assert_snapshot!(home.run(&["etl"]), @r#"
exit 2
--- stdout
--- stderr
error: `all` is not a value of `redact`
"#);
    insta::assert_snapshot!(home.run(&["--config", "missing.toml", "schema"]), @r#"
exit 1
--- stdout
--- stderr
error: cannot read `missing.toml`: No such file or directory (os error 2)
hint: check that `missing.toml` exists
"#);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for word in ["etl", "completions", "read-data"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let knows_values = matches!(shell, "bash" | "zsh" | "fish");
        for value in ["jsonl", "cost_by_model", "cache_misses", "tool_calls"] {
            assert!(!knows_values || script.contains(value), "{shell}: {value}");
        }
    }
}

#[test]
fn the_manual_page_has_every_command() {
    let page = stdout(&["man"]);
    assert!(page.contains(".TH llrem 1"));
    for command in COMMANDS {
        assert!(page.contains(&format!(".SH \"llrem {command}\"")), "{command}");
    }
}

#[test]
fn colour_only_when_asked_for() {
    let home = Home::new();
    assert!(!home.run(&["etll"]).contains('\u{1b}'));
    assert!(home.run(&["--color", "always", "schema", "x"]).contains("\u{1b}[1;31merror:\u{1b}[0m"));
    let refused = home.command(&["--color=always", "schema", "x"]).env("NO_COLOR", "1").output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains('\u{1b}'), "a flag goes before NO_COLOR");
}

/// A home with a lake made of Claude Code's worked example.
fn home_with_lake() -> Home {
    let home = Home::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/worked-example/home");
    let made = home.command(&["etl", "--home", example.to_str().unwrap()]).output().unwrap();
    assert!(made.status.success(), "{}", home.show(&made));
    assert!(made.stdout.is_empty());
    home
}

fn rows(home: &Home, arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = home.command(arguments).args(["-f", "json"]).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", home.show(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_canned_query_runs_and_its_columns_are_those_of_its_header() {
    let home = home_with_lake();
    let library = Library::load(&[]).unwrap();
    for canned in &library.queries {
        let output = home.command(&["query", &canned.name]).output().unwrap();
        assert!(output.status.success(), "{}: {}", canned.name, home.show(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let declared: Vec<&str> = match canned.purpose {
            Purpose::Report => canned.columns.iter().map(|(name, _)| name.as_str()).collect(),
            Purpose::Detector => llrem::query::findings::columns().map(|column| column.name).collect(),
        };
        let without_last = declared.strip_suffix(&["responses"]).unwrap_or(&declared);
        assert!(columns == declared || columns == without_last, "{}: {columns:?}", canned.name);
    }
    assert!(rows(&home, &["query", "cost_by_project"]).iter().any(|row| row["responses"].as_i64() > Some(0)));
}

#[test]
fn filters_of_canned_queries() {
    let home = home_with_lake();
    let count = |arguments: &[&str]| rows(&home, &[&["query", "cost_by_session"], arguments].concat()).len();
    assert!(count(&[]) > 0);
    assert_eq!(count(&["--since", "2000-01-01"]), count(&[]));
    assert_eq!(count(&["--until", "2000-01-01"]), 0);
    assert_eq!(count(&["--agent", "claude-code"]), count(&[]));
    assert_eq!(count(&["--agent", "codex"]), 0);
    assert_eq!(count(&["--param", "agent=codex"]), 0);
}

#[test]
fn until_includes_the_day_that_it_names() {
    let home = home_with_lake();
    let first =
        "select min(started_at) as at, cast(min(started_at) - interval '1 day' as date) as day_before from sessions";
    let first = rows(&home, &["sql", first]).remove(0);
    let (at, day_before) = (first["at"].as_str().unwrap(), first["day_before"].as_str().unwrap());
    let day = at.split('T').next().unwrap();
    let count = |arguments: &[&str]| rows(&home, &[&["query", "cost_by_session"], arguments].concat()).len();
    assert!(count(&["--since", day, "--until", day]) > 0);
    assert_eq!(
        count(&["--param", &format!("since={day}"), "--param", &format!("until={day}")]),
        count(&["--until", day])
    );
    assert_eq!(count(&["--until", day_before]), 0);
    assert_eq!(count(&["--until", at]), 0, "a time is not included");
}

#[test]
fn any_sql_over_all_tables() {
    let home = home_with_lake();
    for table in ["sessions", "messages", "tool_calls", "usage", "sources", "runs", "prices"] {
        let counted = rows(&home, &["sql", &format!("select count(*) as n from {table}")]);
        assert!(counted[0]["n"].as_i64() > Some(0), "{table}");
    }
    let sums = "select sum(total_tokens) as n from sessions union all select sum(total_tokens) from usage";
    let sums = rows(&home, &["sql", sums]);
    assert_eq!(sums[0], sums[1]);
    home.write("q.sql", "select 1 as one;");
    assert_eq!(home.run(&["sql", "--file", "q.sql", "-f", "csv"]), "exit 0\n--- stdout\none\n1\n--- stderr\n");
    let before = home.run(&["--json", "sql", "--file", "q.sql"]);
    assert_eq!(before, "exit 0\n--- stdout\n[\n{\"one\":1}\n]\n--- stderr\n");
    let piped = home.command(&["sql"]).write_stdin("select 2 as two").output().unwrap();
    assert_eq!(home.show(&piped), "exit 0\n--- stdout\ntwo\n2\n--- stderr\n");
}

#[test]
fn moments_are_of_the_session_s_zone() {
    let home = home_with_lake();
    let query = "select min(started_at) as at, cast(date_trunc('day', min(started_at)) as text) as day from sessions";
    let at = |zone: &str| {
        let first = &rows(&home, &["sql", query, "--timezone", zone])[0];
        (first["at"].as_str().unwrap().to_owned(), first["day"].as_str().unwrap().to_owned())
    };
    let (utc, day) = at("UTC");
    let (tokyo, tokyo_day) = at("Asia/Tokyo");
    assert!(utc.ends_with('Z') && tokyo.ends_with("+09:00"), "{utc} {tokyo}");
    assert!(day.contains("T00:00:00") && tokyo_day.contains("T00:00:00+09:00"), "{day} {tokyo_day}");
}

#[test]
fn queries_only_read() {
    let home = home_with_lake();
    for refused in [
        "copy usage to 'x.csv'",
        "create external table x stored as csv location '/etc/passwd'",
        "create table x as select 1",
        "insert into usage select * from usage",
        "delete from usage",
        "drop table usage",
        "set datafusion.execution.batch_size = 1",
        "explain analyze copy usage to 'x.csv'",
    ] {
        let shown = home.run(&["sql", refused]);
        assert!(shown.starts_with("exit 1\n") && shown.contains("is refused: queries only read the lake"), "{shown}");
    }
    assert!(home.run(&["sql", "select * from '/etc/passwd'"]).starts_with("exit 2\n"));
    assert!(!home.path().join("x.csv").exists());
}

#[test]
fn wrong_queries_are_told_in_two_lines() {
    let home = home_with_lake();
    insta::assert_snapshot!(home.run(&["sql", "select cost from usage"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no column `cost`
    hint: cost_usd, cost_source, list_cost_usd? `llrem schema` lists tables and columns
    ");
    insta::assert_snapshot!(home.run(&["sql", "select session_idd from usage"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no column `session_idd`
    hint: session_id? `llrem schema` lists tables and columns
    ");
    insta::assert_snapshot!(home.run(&["sql", "select * from session"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no table `session`
    hint: sessions? `llrem schema` lists tables and columns
    ");
    insta::assert_snapshot!(home.run(&["sql", "selec 1"]), @r#"
exit 1
--- stdout
--- stderr
error: Expected: an SQL statement, found: selec at Line: 1, Column: 1
"#);
    insta::assert_snapshot!(home.run(&["sql", "select 1; select 2"]), @r#"
exit 1
--- stdout
--- stderr
error: a query is one statement; run several of them separately
"#);
}

/// A home where a session names a project that another agent keeps a file in, and that one's session nothing new.
fn home_with_a_project() -> Home {
    let home = Home::new();
    add_project(&home, "api");
    home
}

/// Adds a project of that name, in which Aider was once started: wherever its chat is copied, it is the same session.
fn add_project(home: &Home, name: &str) {
    let line = serde_json::json!({
        "type": "user", "uuid": name, "sessionId": name, "timestamp": "2026-02-01T10:00:00Z",
        "cwd": home.path().join("elsewhere").join(name), "message": {"role": "user", "content": "hello"},
    });
    home.write(&format!(".claude/projects/-{name}/{name}.jsonl"), &format!("{line}\n"));
    let chat = "\n# aider chat started at 2026-02-01 11:00:00\n\n> Aider v0.86.1  \n\n#### add a route  \n\nDone.\n";
    home.write(&format!("elsewhere/{name}/.aider.chat.history.md"), chat);
}

const SESSIONS: &str =
    "select agent, session_id, started_at, messages, project_path, title from sessions order by 1, 2";

#[test]
fn chats_are_found_in_projects_that_sessions_of_the_same_run_name() {
    let home = home_with_a_project();
    let dry = home.run(&["etl", "--dry-run"]);
    insta::assert_snapshot!(dry, @r"
exit 0
--- stdout
reason,path
new,[HOME]/.claude/projects/-api/api.jsonl
--- stderr
claude-code: 1 new, 0 changed, 0 unchanged
projects that their sessions name would be searched for files of opencode, aider, amazon-q, kiro-cli, windsurf and crush
1 of these sources would be read; nothing was written
");
    let extracted = home.run(&["etl", "-v"]);
    assert!(extracted.contains("\nclaude-code: 1 new, 0 changed, 0 unchanged; wrote 1 session,"), "{extracted}");
    assert!(extracted.contains("\naider: 1 new, 0 changed, 0 unchanged; wrote 1 session, 3 messages"), "{extracted}");
    let runs = home.run(&["sql", "select sources_seen, sources_new, sources_changed, exit_code from runs"]);
    insta::assert_snapshot!(runs, @r"
exit 0
--- stdout
sources_seen,sources_new,sources_changed,exit_code
2,2,0,0
--- stderr
");
    let again = home.run(&["etl", "-v"]);
    assert!(again.contains("\naider: 0 new, 0 changed, 1 unchanged\n"), "{again}");
    add_project(&home, "another");
    let more = home.run(&["etl", "-v"]);
    assert!(more.contains("\naider: 1 new, 0 changed, 1 unchanged;"), "{more}");
    let grown = home.run(&["sql", SESSIONS]);
    assert_eq!(grown.matches("\naider,").count(), 1, "{grown}");
    assert_eq!(grown.matches("\nclaude-code,").count(), 2, "{grown}");
    for orders in [&[["etl", "--full"]][..], &[["etl", "--agent=claude-code"], ["etl", "--agent=aider"]]] {
        assert!(home.run(&["verify"]).starts_with("exit 0\n"));
        std::fs::remove_dir_all(home.path().join(".local/share/llrem/lake")).unwrap();
        for order in orders {
            home.run(order);
        }
        assert_eq!(home.run(&["sql", SESSIONS]), grown, "{orders:?}");
    }
}

#[test]
fn what_was_saved_in_projects_that_sessions_name_is_found() {
    let home = home_with_a_project();
    let save = |id: &str| {
        let prompt =
            serde_json::json!({"content": {"Prompt": {"prompt": "hello"}}, "timestamp": "2025-09-01T10:00:00Z"});
        let reply = serde_json::json!({"Response": {"message_id": id, "content": "yes"}});
        serde_json::json!({"conversation_id": id, "history": [{"user": prompt, "assistant": reply}]}).to_string()
    };
    home.write("elsewhere/api/amazonq-chat.json", &save("5973b6c0-94b8-487b-a530-2aeb6098ae01"));
    home.write("elsewhere/kiro-chat.json", &save("5973b6c0-94b8-487b-a530-2aeb6098ae02"));
    home.write("elsewhere/api/.windsurfrules", "be kind\n");
    home.write("elsewhere/api/.windsurf/rules/tests.md", "write tests\n");
    home.run(&["etl"]);
    let found = home.run(&["sql", "select agent, kind, sessions, path from sources order by 1, 4"]);
    insta::assert_snapshot!(found, @r"
exit 0
--- stdout
agent,kind,sessions,path
aider,chat,1,[HOME]/elsewhere/api/.aider.chat.history.md
amazon-q,save,1,[HOME]/elsewhere/api/amazonq-chat.json
claude-code,transcript,1,[HOME]/.claude/projects/-api/api.jsonl
kiro-cli,save,1,[HOME]/elsewhere/kiro-chat.json
windsurf,rules,0,[HOME]/elsewhere/api/.windsurf/rules/tests.md
windsurf,rules,0,[HOME]/elsewhere/api/.windsurfrules
--- stderr
");
}

#[test]
fn projects_that_sessions_name_are_left_alone_below_another_home() {
    let home = home_with_a_project();
    let other = Home::new();
    other.run(&["etl", "--home", home.path().join(".claude").to_str().unwrap()]);
    let named = home.path().join(".claude/projects/-api/api.jsonl");
    other.run(&["etl", "--source", named.to_str().unwrap()]);
    let agents = other.command(&["sql", "select agent from sessions"]).output().unwrap();
    assert_eq!(String::from_utf8(agents.stdout).unwrap(), "agent\nclaude-code\n");
}
