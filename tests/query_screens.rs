//! Whole screens at 80 and 120 columns, over a lake of fixtures, with a fixed clock and zone.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rexpect::session::spawn_command;
use tempfile::TempDir;

/// Nobody waits so long; a test that would is lost.
const PATIENCE: u64 = 120_000;

/// Friday, an hour after the lake was fed.
const NOW: &str = "2026-08-14T14:02:00+02:00";
const FED: &str = "2026-08-14T13:00:00+02:00";

const AGENTS: [&str; 6] = ["aider", "claude-code", "codex", "copilot-cli", "gemini-cli", "opencode"];

/// A home with the worked examples of some agents, and its lake.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        for agent in AGENTS {
            let example =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(agent).join("worked-example/home");
            copy(&example, &folder.path().join("home"));
        }
        let etl =
            llrem(folder.path()).env("LLREM_NOW", FED).args(["etl", "--home", "home", "--lake", "lake", "-q"]).status();
        assert!(etl.unwrap().success());
        folder
    });
    folder.path()
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn llrem(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
    command.env_clear().env("HOME", folder).env("TZ", "Europe/Berlin").env("LLREM_MACHINE", "test").current_dir(folder);
    command
}

/// Returns the output on a terminal of a width, with the exit code if it is not 0.
fn screen_at(now: &str, columns: usize, arguments: &str) -> String {
    screen_in("C.UTF-8", now, columns, arguments)
}

fn screen_in(locale: &str, now: &str, columns: usize, arguments: &str) -> String {
    let mut command = Command::new("/bin/sh");
    command.env_clear().env("HOME", folder()).env("TZ", "Europe/Berlin").env("TERM", "xterm").current_dir(folder());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("LLREM", env!("CARGO_BIN_EXE_llrem"));
    command.env("LLREM_NOW", now).env("NO_COLOR", "1").env("LC_ALL", locale);
    let script = format!("stty cols {columns} rows 50; $LLREM --lake lake --no-progress {arguments}; echo \"exit $?\"");
    printed(command, &script)
}

fn printed(mut command: Command, script: &str) -> String {
    command.args(["-c", script]);
    let printed = spawn_command(command, Some(PATIENCE)).unwrap().exp_eof().unwrap();
    let bytes: Vec<u8> = printed.chars().map(|letter| u8::try_from(letter).unwrap()).collect();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n").replace("exit 0\n", "")
}

fn screen(columns: usize, arguments: &str) -> String {
    let shown = screen_at(NOW, columns, arguments);
    let widest = shown.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
    assert!(widest <= columns, "{widest} columns: {shown}");
    shown
}

#[test]
fn the_overview() {
    insta::assert_snapshot!(screen(80, ""), @r"
    Friday 14 August 2026, 14:02             last etl today, 13:00

              today  this week  last week  August  July 1–14  July
    cost          0          0          0   $0.02          0     0
      wasted      0          0          0       0          0     0
    sessions      0          0          0       1          0     0
    prompts       0          0          0       2          0     0

    Wasted, last 30 days: nothing found

    All time: $0.13+ in 7 sessions since 2 January 2026 (+ means at least: 4
    responses have no price)

      llrem query   more questions
    ");
    insta::assert_snapshot!(screen(120, ""), @r"
    Friday 14 August 2026, 14:02             last etl today, 13:00

              today  this week  last week  August  July 1–14  July
    cost          0          0          0   $0.02          0     0
      wasted      0          0          0       0          0     0
    sessions      0          0          0       1          0     0
    prompts       0          0          0       2          0     0

    Wasted, last 30 days: nothing found

    All time: $0.13+ in 7 sessions since 2 January 2026 (+ means at least: 4 responses have no price)

      llrem query   more questions
    ");
}

/// The rows of a command.
fn rows(now: &str, arguments: &[&str]) -> Vec<serde_json::Value> {
    let mut command = llrem(folder());
    let output = command.env("LLREM_NOW", now).args(["--lake", "lake", "-f", "json"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_overview_equals_its_queries() {
    let march = "2026-03-14T14:02:00+02:00";
    let overview = rows(march, &[]);
    let periods: Vec<_> = overview.iter().filter(|row| row["by"] == "all").collect();
    assert_eq!(periods.len(), 6);
    for period in periods {
        let (first, last) = (period["first_day"].as_str().unwrap(), period["last_day"].as_str().unwrap());
        let [totals] = rows(march, &["query", "totals", "--since", first, "--until", last]).try_into().unwrap();
        for column in ["cost_usd", "unpriced_responses", "sessions", "prompts"] {
            assert_eq!(period[column], totals[column], "{column} from {first} to {last}");
        }
        let cost = |row: &serde_json::Value| row["cost_usd"].as_f64().unwrap_or(0.0);
        for of in ["agent", "project"] {
            let parts = overview.iter().filter(|row| row["period"] == period["period"] && row["by"] == of);
            assert!((parts.map(cost).sum::<f64>() - cost(period)).abs() < 1e-9, "{of} from {first} to {last}");
        }
    }
    let months = rows(march, &["query", "cost_by_month"]);
    let counted = months.iter().find(|row| row["month"] == "2026-02-01").unwrap();
    let february = overview.iter().find(|row| row["period"] == "February" && row["by"] == "all").unwrap();
    assert_eq!(february["cost_usd"], counted["cost_usd"]);
    let says_so = screen_at(march, 80, "").contains("\nsessions: also those without usage, as in llrem query totals\n");
    assert_eq!(says_so, february["sessions"] != counted["sessions"]);
    assert!(february["cost_usd"].as_f64().unwrap() > 0.0, "{february}");
    let findings = rows(march, &["detect", "--since", "2026-02-01", "--until", "2026-02-28"]);
    assert_eq!(february["findings"], findings.len());
}

#[test]
fn the_overview_of_a_stale_lake() {
    insta::assert_snapshot!(screen_at("2026-08-23T09:00:00+02:00", 80, ""), @r"
    Last etl 9 days ago (Fri 14 August). Newer sessions are missing. Run: llrem etl

    Sunday 23 August 2026, 09:00

              today  this week  last week  August  July 1–23  July
    cost          –          –         0+  $0.02+          0     0
      wasted      –          –         0+      0+          0     0
    sessions      –          –         0+      1+          0     0
    prompts       –          –         0+      2+          0     0

    – not known yet   + at least: the lake ends on Fri 14 August

    Wasted, last 30 days: nothing found

    All time: $0.13+ in 7 sessions since 2 January 2026 (+ means at least: 4
    responses have no price)

      llrem query   more questions
    ");
}

#[test]
fn the_overview_when_nothing_was_used_lately() {
    insta::assert_snapshot!(screen_at("2026-11-23T17:14:00+01:00", 80, ""), @r"
    Last etl 2026-08-14 (Fri 14 August). Newer sessions are missing. Run: llrem etl

    Monday 23 November 2026, 17:14

    No usage in the last 30 days. The newest is of Sat 1 August.

                  August  June
    cost          $0.02+     –
      wasted          0+     0
    sessions          1+     1
    prompts           2+     2

    by agent
      codex       $0.02+     0
      gemini-cli      0+     –
    by project
      web         $0.02+     0
      web-app         0+     –

    – not known yet   + at least: the lake ends on Fri 14 August

    All time: $0.13+ in 7 sessions since 2 January 2026 (+ means at least: 4
    responses have no price)

      llrem query   more questions
    ");
}

#[test]
fn the_list_fits_a_screen() {
    insta::assert_snapshot!(screen(80, "query"), @r"
    Cost    totals              everything in one row
            cost_by_day         what each day cost; also _and_agent, _month, _week
            cost_by_agent       what each agent cost; also _branch, _commit,
                                _entrypoint, _model, _project, _pull_request,
                                _session, _skill, _ticket
            compare             models, efforts or versions side by side; also drift
            output_by_project   what each project got for its cost
            subagent_share      what subagents cost
    Caches  cache_hit_rate      how much input came from the cache; also _by_day
            cache_miss_reasons  why the cache was missed
            cache_savings       what caches saved
            cache_ttl           five minutes or an hour of cache
            compaction_rate     how often the context was compacted; also _cost
            context_floor       context before the work begins
    Time    hours_of_week       when you work; also hours_by_project_day
            session_lengths     turns and active time
            slowest_responses   and how fast they were
    Limits  billing_blocks      use in blocks of five hours
            limits              how much of each limit was used; also limit_hits,
                                plan_worth
    Tools   largest_outputs     what filled the context
            mcp_servers         calls and failures by server
            most_edited_files   and in how many sessions
            test_runs           how test runs ended; also edits_without_tests
            tool_latency        how long calls take; also hook_overhead
            tool_use            calls and failures
    Data    data_quality        what the figures leave out
    Waste   23 detectors; llrem detect --explain lists them

    llrem query cost_by_day --since 7d    run one
    llrem query cost_by_day --explain     parameters and columns
    ");
    assert!(screen(80, "query").lines().count() <= 32);
}

#[test]
fn detectors_and_explanations_fit_the_terminal() {
    let list = screen(80, "detect --explain");
    assert!(list.starts_with("  aborted_turns"), "{list}");
    assert_eq!(list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count(), 23, "{list}");
    for command in ["detect --explain", "detect --explain cache_misses", "query cost_by_month --explain"] {
        let shown = screen(80, command);
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{command}: {shown}");
    }
}

#[test]
fn costs_by_day() {
    insta::assert_snapshot!(screen(80, "query cost_by_day"), @r"
    Cost by day, all time

    day                cost  sessions  responses   tokens
    Fri 2026-01-02  $0.02           1          –    5,610  █████████████
    Wed 2026-02-25  $0.03           1          2    2,150  ███████████████████▌
    Sun 2026-03-01  $0.02           1          4   20,548  █████████▉
    Mon 2026-03-02  $0.0018         1          1    5,535  █▎
    Fri 2026-05-01  $0.04           1          –   34,215  ████████████████████████
    Sat 2026-05-02  $0.0076         1          –   12,060  ████▉
    Sun 2026-05-03  $0.0002         1          1       15  ▏
    Mon 2026-06-01      –           1          4   38,420
    Sat 2026-08-01  $0.02           1          4   30,060  █████████████▌
    ─────────────────────────────────────────────────────
    total           $0.13+          7         16  148,613

    tokens: input, cache read, cache write, output together
    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(120, "query cost_by_day"), @r"
    Cost by day, all time

    day                cost  sessions  responses   input  cache read  cache write  output
    Fri 2026-01-02  $0.02           1          –   1,100       3,000        1,100     410  █████████████
    Wed 2026-02-25  $0.03           1          2     900       1,000            0     250  ███████████████████▌
    Sun 2026-03-01  $0.02           1          4      17      18,900        1,350     281  █████████▉
    Mon 2026-03-02  $0.0018         1          1      10       5,500           20       5  █▎
    Fri 2026-05-01  $0.04           1          –   1,100      24,000        8,900     215  ████████████████████████
    Sat 2026-05-02  $0.0076         1          –     500      11,000          500      60  ████▉
    Sun 2026-05-03  $0.0002         1          1       –           –            –      15  ▏
    Mon 2026-06-01      –           1          4  16,830      21,000            0     590
    Sat 2026-08-01  $0.02           1          4   3,700      23,000        3,000     360  █████████████▌
    ─────────────────────────────────────────────────────────────────────────────────────
    total           $0.13+          7         16  24,157     107,400       14,870   2,186

    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(80, "query cost_by_week"), @r"
    Cost by week, all time

    week               cost  sessions  responses   tokens
    Mon 2025-12-29  $0.02           1          –    5,610  ██████████▋
    Mon 2026-02-23  $0.05           2          6   22,698  ████████████████████████
    Mon 2026-03-02  $0.0018         1          1    5,535  █
    Mon 2026-04-27  $0.04           1          1   46,290  ███████████████████████▊
    Mon 2026-06-01      –           1          4   38,420
    Mon 2026-07-27  $0.02           1          4   30,060  ███████████▏
    ─────────────────────────────────────────────────────
    total           $0.13+          7         16  148,613

    tokens: input, cache read, cache write, output together
    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(80, "query cost_by_month --agent codex"), @r"
    Cost by month, all time, agent codex

    month        2026-08
    cost           $0.02
    sessions           1
    responses          4
    input          3,700
    cache read    23,000
    cache write    3,000
    output           360
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "each screen is whole")]
fn costs_by_project_model_and_session() {
    insta::assert_snapshot!(screen(80, "query cost_by_project"), @r"
    Cost by project, all time

    project    cost  sessions  responses   tokens  last used
    app      $0.05          2          2    7,760  2026-02-25 07:13  ███████████████
    api      $0.04          1          1   46,290  2026-05-03 11:00  █████████████▍
    web      $0.02          1          4   30,060  2026-08-01 12:02  ██████▎
    api.v2   $0.02          2          5   26,083  2026-03-02 10:00  █████▏
    web-app      –          1          4   38,420  2026-06-01 12:01
    ───────────────────────────────────────────────────────────────
    total    $0.13+         7         16  148,613

    tokens: input, cache read, cache write, output together
    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(120, "query cost_by_project"), @r"
    Cost by project, all time

    project    cost  sessions  responses   input  cache read  cache write  output  last used
    app      $0.05          2          2   2,000       4,000        1,100     660  2026-02-25 07:13  ███████████████████████
    api      $0.04          1          1   1,600      35,000        9,400     290  2026-05-03 11:00  ████████████████████▌
    web      $0.02          1          4   3,700      23,000        3,000     360  2026-08-01 12:02  █████████▋
    api.v2   $0.02          2          5      27      24,400        1,370     286  2026-03-02 10:00  ███████▊
    web-app      –          1          4  16,830      21,000            0     590  2026-06-01 12:01
    ───────────────────────────────────────────────────────────────────────────────────────────────
    total    $0.13+         7         16  24,157     107,400       14,870   2,186

    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(120, "query cost_by_model"), @r"
    Cost by model, all time

    model                 cost  per 1M  sessions  responses   input  cache read  cache write  output
    claude-sonnet-4-6  $0.06     $0.84         3          5   1,518      57,800        6,870     455  ██████████████████████
    gpt-z              $0.03    $13.95         1          2     900       1,000            0     250  ███████████▉
    gpt-5.3-codex      $0.02     $0.69         1          4   3,700      23,000        3,000     360  ████████▎
    claude-s           $0.02     $3.57         1          –   1,100       3,000        1,100     410  ███████▉
    claude-haiku-4-5   $0.0057   $1.00         2          1     109       1,600        3,900     121  ██▎
    gemini-3-pro           –         –         1          3  16,300      21,000            0     570
    gemini-3-flash         –         –         1          1     530           0            0      20
    ────────────────────────────────────────────────────────────────────────────────────────────────
    total              $0.13+                  7         16  24,157     107,400       14,870   2,186

    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(80, "query cost_by_session"), @r"
    Cost by session, all time

    session               cost  started at        project  title
    c1000000           $0.04    2026-05-01 12:00  api      run tests
    a                  $0.03    2026-02-25 07:13  app      Fix
    237f0d8e           $0.02    2026-01-02 09:00  app      fix the bug in a.py
    019fbcc4-2         $0.02    2026-08-01 12:00  web      list files
    11111111           $0.01    2026-03-01 11:00  api.v2   Fix login redirect
    019fbcc4-a         $0.0030  2026-08-01 12:00  web      explore src
    22222222           $0.0018  2026-03-02 10:00  api.v2   try another way
    11111111/a1b2c3d4  $0.0006  2026-03-01 11:00  api.v2   find bug
    aaaaaaaa               –    2026-06-01 12:00  web-app  Run the tests
    aaaaaaaa/codebase      –    2026-06-01 12:00  web-app  –
    ──────────────────────────────────────────────────────────────────────────
    total              $0.13+

    no room for tokens, responses, agent
    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(120, "query cost_by_session --limit 2"), @r"
    Cost by session, all time

    session     cost  started at        project  title       tokens  responses  agent
    c1000000  $0.04   2026-05-01 12:00  api      run tests   46,290          1  copilot-cli  ████████████████████████
    a         $0.03   2026-02-25 07:13  app      Fix          2,150          2  opencode     ████████████████▏
    ───────────────────────────────────────────────────────────────────────────────────────
    total     $0.13+                                        148,613         16

    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    8 more rows (`--limit off` shows all)
    ");
}

#[test]
fn one_row_is_vertical() {
    insta::assert_snapshot!(screen(80, "query totals"), @r"
    Totals, all time

    cost                             $0.13+
    sessions                              7
      with usage                          7
    prompts                              10
    responses                            16
      without a price                     4
      with inexact counts                 2
    tokens                          148,613
      input                          24,157
      cache read                    107,400
      cache write                    14,870
      output                          2,186
    first used             2026-01-02 09:00
    last used              2026-08-01 12:02

    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    insta::assert_snapshot!(screen(80, "sql 'select count(*) as n, 0 as zero from sessions'"), @r"
     n  zero
    11     0
    ");
}

#[test]
fn tools_and_sums() {
    insta::assert_snapshot!(screen(80, "query tool_use --agent claude-code"), @r"
    Tools and their errors, all time, agent claude-code

    tool   calls  errors  failed  agent        category  rejections  output
    Bash       1       1    100%  claude-code  shell              0    36 B
    Edit       1       0       –  claude-code  edit               1   225 B
    Task       1       0       0  claude-code  task               0    13 B
    ───────────────────────────────────────────────────────────────────────
    total      3       1                                          1   274 B

    left out, all zero: interruptions, unanswered
    no room for sessions
    ");
    insta::assert_snapshot!(screen(120, "query data_quality"), @r"
    What is missing or uncertain, all time

    problem                          what            agent        items  tokens
    counts are rounded, estimated or those of a running response
                                     turn            aider            1   5,610
    no finer than a turn or session  turn            aider            1   5,610
    input was not recorded           response        copilot-cli      1      15
    no finer than a turn or session  session         copilot-cli      3  46,275
    model without a known price      gemini-3-pro    gemini-cli       3  37,870
    model without a known price      gemini-3-flash  gemini-cli       1     550

    left out, all unknown: list price
    ");
}

#[test]
fn an_empty_result_says_why() {
    insta::assert_snapshot!(screen(80, "query cost_by_day --since 7d"), @"No usage since Fri 2026-08-07. The newest is of Sat 2026-08-01.");
    insta::assert_snapshot!(screen(80, "query cost_by_day --agent codex --until 2020-01-01"), @"No usage of codex until Wed 2020-01-01. Its newest is of Sat 2026-08-01.");
    insta::assert_snapshot!(screen(80, "query cost_by_day --agent droid"), @r"
    No sessions of droid. The lake has sessions of aider, claude-code, codex,
    copilot-cli, gemini-cli and opencode.
    ");
    insta::assert_snapshot!(screen(80, "query limit_hits --agent aider"), @"Requests that a used-up limit refused of aider: nothing of this was recorded.");
    insta::assert_snapshot!(screen(80, "detect --agent codex --until 2020-01-01"), @"No usage of codex until Wed 2020-01-01. Its newest is of Sat 2026-08-01.");
    insta::assert_snapshot!(screen(80, "query cost_by_day --project ap"), @r"
    error: no project is called `ap`
    hint: api, app? `llrem query cost_by_project` lists them
    exit 2
    ");
}

#[test]
fn wrong_usage_names_what_is_right() {
    insta::assert_snapshot!(screen(80, "query cost"), @r"
    error: there is no query `cost`
    hint: cost_by_day, cost_by_week, cost_by_agent, cost_by_model, cost_by_month,
          cost_by_skill, cost_outliers, cost_by_branch, cost_by_commit,
          cost_by_ticket, cost_by_project, cost_by_session, cost_by_entrypoint,
          cost_by_pull_request, cost_by_day_and_agent? `llrem query` lists them
    exit 2
    ");
    insta::assert_snapshot!(screen(80, "query totals --since 1m"), @r"
    error: `1m` in --since: minutes or months?
    hint: write 1min or 1mo
    exit 2
    ");
    insta::assert_snapshot!(screen(80, "query totals --since '3 fortnights'"), @r"
    error: `3 fortnights` in --since is not a time
    hint: write 7d, 2w, 3mo, 1y, 2026-07-01, today, monday, `last week` or
          `this month`
    exit 2
    ");
    insta::assert_snapshot!(screen(120, "query totals --since 2026-01-01 --until 2025-01-01"), @r"
    error: --until 2025-01-01 is before --since 2026-01-01
    exit 2
    ");
    insta::assert_snapshot!(screen(80, "sql 'select project, sum(cost_usd) from usage group by project'"), @r"
    error: usage has no column `project`; sessions has it
    hint: `from usage join sessions using (machine, agent, session_id)`, and
          `usage.cost_usd`: both have one
    exit 2
    ");
    insta::assert_snapshot!(screen(80, "sql \"select sum(status='error') from tool_calls\""), @r"
    error: `sum` does not take a boolean
    hint: count what is true with `count(*) filter (where …)`
    exit 2
    ");
    insta::assert_snapshot!(screen(80, "sql 'select cost_usd from usage join sessions using (machine, agent, session_id)'"), @r"
    error: several tables have a column `cost_usd`
    hint: write `sessions.cost_usd` or `usage.cost_usd`
    exit 2
    ");
}

#[test]
fn a_stale_lake_is_the_first_line() {
    insta::assert_snapshot!(screen_at("2026-08-23T09:00:00+02:00", 80, "query cost_by_agent"), @r"
    Last etl 9 days ago (Fri 14 August). Newer sessions are missing. Run: llrem etl

    Cost by agent, all time

    agent          cost  sessions  responses   tokens  last used
    copilot-cli  $0.04          1          1   46,290  2026-05-03 11:00  ███████████
    opencode     $0.03          1          2    2,150  2026-02-25 07:13  ███████▍
    codex        $0.02          1          4   30,060  2026-08-01 12:02  █████▏
    aider        $0.02          1          –    5,610  2026-01-02 09:00  ████▉
    claude-code  $0.02          2          5   26,083  2026-03-02 10:00  ████▏
    gemini-cli       –          1          4   38,420  2026-06-01 12:01
    ───────────────────────────────────────────────────────────────────
    total        $0.13+         7         16  148,613

    tokens: input, cache read, cache write, output together
    + at least, – unknown: 4 responses have no price (llrem query data_quality)
    ");
    assert!(!screen_at("2026-08-23T09:00:00+02:00", 80, "query cost_by_agent -q").contains("Last etl"));
    assert!(!screen_at("2026-08-15T09:00:00+02:00", 80, "query cost_by_agent").contains("Last etl"));
}

#[test]
fn a_terminal_without_unicode_gets_ascii() {
    let shown = screen(80, "query cost_by_agent --limit 2");
    let ascii = screen_in("C", NOW, 80, "query cost_by_agent --limit 2");
    assert!(shown.contains('─') && shown.contains('█') && shown.contains('–'), "{shown}");
    assert!(ascii.is_ascii() && ascii.contains("---") && ascii.contains("###"), "{ascii}");
}

#[test]
fn sql_without_rows_says_so() {
    insta::assert_snapshot!(screen(80, "sql 'select project, title from sessions limit 0'"), @r"
    project  title

    no rows
    ");
}

/// The table goes to stdout; nothing but the table does.
#[test]
fn a_redirected_result_is_clean() {
    let shown = screen(80, "query cost_by_agent --limit 1 > /dev/null");
    assert_eq!(shown, "", "a result that nobody sees has no title");
    let shown = screen(80, "query cost_by_agent 2> /dev/null");
    assert!(shown.starts_with("agent "), "{shown}");
}
