//! `llrem sql` on a terminal: a pseudo-terminal, on which somebody types.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "common/bench.rs"]
mod lake;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::termios::{LocalFlags, tcgetattr};
use rexpect::process::{Signal, WaitStatus};
use rexpect::session::{PtySession, spawn_command};

use lake::{Bench, Transcript};

/// Nobody waits so long; a test that would is lost.
const PATIENCE: u64 = 120_000;

const PROMPT: &str = "llrem> ";
const GOES_ON: &str = "    -> ";

/// The editor's last words on a line, and its first on the next: pasting is told apart from typing in between.
const TAKEN: &str = "\u{1b}[?2004l\r\n";
const ASKING: &str = "\u{1b}[?2004h";

/// The keys up and tab.
const UP: &str = "\u{1b}[A";
const TAB: &str = "\t";

/// A lake with three sessions, and a home.
fn bench() -> Bench {
    let bench = Bench::new();
    for number in 1..=3 {
        let mut session = Transcript::new(&format!("session-{number}"), "2025-08-05T10:00:00Z");
        session.prompt("Hello").reply("Hi");
        bench.transcript(&format!("session-{number}.jsonl"), session.text());
    }
    bench.extract();
    bench
}

/// The program on a terminal of 100 columns.
fn on_terminal(bench: &Bench, arguments: &str) -> PtySession {
    on_terminal_of(100, bench, arguments)
}

fn on_terminal_of(columns: usize, bench: &Bench, arguments: &str) -> PtySession {
    let mut command = Command::new("/bin/sh");
    command.env_clear().env("HOME", bench.path()).env("TZ", "UTC").env("TERM", "xterm");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("LLREM", env!("CARGO_BIN_EXE_llrem")).env("LLREM_LAKE", bench.lake());
    command.args(["-c", &format!("stty cols {columns} rows 40; exec $LLREM {arguments}")]);
    spawn_command(command, Some(PATIENCE)).unwrap()
}

struct Shell(PtySession);

impl Shell {
    fn start(bench: &Bench) -> Self {
        Self::with(bench, "sql --color never")
    }

    fn with(bench: &Bench, arguments: &str) -> Self {
        let mut shell = Self(on_terminal(bench, arguments));
        shell.until(PROMPT);
        shell
    }

    fn press(&mut self, keys: &str) {
        self.0.send(keys).unwrap();
        self.0.flush().unwrap();
    }

    /// Returns the output before that text.
    fn until(&mut self, text: &str) -> String {
        let bytes: String = text.bytes().map(char::from).collect();
        plain(&self.0.exp_string(&bytes).unwrap())
    }

    /// Types a line, and gives what is printed up to the next prompt.
    fn ask(&mut self, line: &str) -> String {
        self.press(&format!("{line}\r"));
        self.answer()
    }

    /// Returns the output between an accepted line and the next prompt.
    fn answer(&mut self) -> String {
        self.until(TAKEN);
        let printed = self.until(ASKING);
        self.until("> ");
        printed
    }

    fn leave(mut self) -> WaitStatus {
        self.press("\u{4}");
        self.0.exp_eof().unwrap();
        self.0.process().wait().unwrap()
    }
}

/// The text without what steers the terminal. It comes as a letter for each byte.
fn plain(text: &str) -> String {
    let bytes: Vec<u8> = text.chars().map(|letter| u8::try_from(letter).unwrap()).collect();
    let text = String::from_utf8(bytes).unwrap();
    let steering = regex::Regex::new("\u{1b}\\[[0-9;?]*[a-zA-Z]").unwrap();
    steering.replace_all(&text, "").replace("\r\n", "\n")
}

fn history(bench: &Bench) -> PathBuf {
    bench.path().join(".local/state/llrem/history")
}

#[test]
fn a_terminal_that_has_no_size_shows_what_a_usual_one_does() {
    let bench = bench();
    let shown = |columns| {
        let arguments = "sql 'select agent, session_id, started_at, project from sessions order by 2'";
        plain(&on_terminal_of(columns, &bench, arguments).exp_eof().unwrap())
    };
    let usual = shown(80);
    assert!(usual.contains("session-3") && usual.contains("started_at"), "{usual}");
    assert_eq!(shown(0), usual);
}

#[test]
fn statements_are_answered_until_the_end() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    insta::assert_snapshot!(shell.ask("select count(*) as n from sessions;"), @r"
    n
    3
    ");
    insta::assert_snapshot!(shell.ask("select 1 as a; select ';' as b;"), @r"
    a
    1
    b
    ;
    ");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn a_statement_may_span_lines() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    shell.press("select 'a;\r");
    shell.until("    '> ");
    shell.press("b' as text, -- ;\r");
    shell.until(GOES_ON);
    shell.press("$$;\r");
    shell.until("    $> ");
    insta::assert_snapshot!(shell.ask("$$ as other;"), @r"
    text  other
    a; b  ;
    ");
    shell.press("select\r");
    shell.until(GOES_ON);
    // Ctrl-C takes back what was typed.
    shell.press("1\u{3}");
    shell.until(PROMPT);
    insta::assert_snapshot!(shell.ask("select 2 as b;"), @r"
    b
    2
    ");
    shell.press("select 3\r");
    shell.until(GOES_ON);
    assert_eq!(shell.ask("\\timing on"), "timing is on\n");
    let printed = shell.ask("as c;");
    assert!(printed.contains("c\n3\n") && printed.contains("\ntime: "), "{printed}");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn what_is_wrong_is_told_and_the_shell_goes_on() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    insta::assert_snapshot!(shell.ask("select modl from usage;"), @r"
    error: no column `modl`
    hint: model? `\d` lists tables, `\d TABLE` columns
    ");
    insta::assert_snapshot!(shell.ask("select * from usag;"), @r"
    error: no table `usag`
    hint: usage? `\d` lists tables, `\d TABLE` columns
    ");
    insta::assert_snapshot!(shell.ask("delete from usage;"), @r#"
    error: `DELETE FROM` is refused: queries only read the lake
    "#);
    insta::assert_snapshot!(shell.ask("\\timng on"), @r#"
    error: unknown command `\timng`; did you mean `\timing`? (`\?` lists them)
    "#);
    insta::assert_snapshot!(shell.ask("\\d usag"), @r#"
    error: unknown table `usag`; did you mean `usage`?
    "#);
    insta::assert_snapshot!(shell.ask("\\run cost_by_dya"), @r"
    error: there is no query `cost_by_dya`
    hint: cost_by_day, cost_by_model, cost_by_week? `llrem query` lists them
    ");
    insta::assert_snapshot!(shell.ask("selekt 1; select 2 as b;"), @r"
    error: Expected: an SQL statement, found: selekt at Line: 1, Column: 1
    b
    2
    ");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn commands() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    insta::assert_snapshot!(shell.ask("\\d"), @r"
    table       meaning
    sessions    One row for each session; a subagent's run is a session of its own.
    messages    One row for each message of a session; the lines of one API response are one message.
    tool_calls  One row for each tool call, with its result.
    usage       One row for each billed API response, or the finest grain that the agent stores.
    sources     One row for each file or database that was ever read.
    runs        One row for each run of `llrem etl`.
    prices      One row for each price of a model, kind of token and tier, with the days on which it is
                valid.
    findings    One row for each finding of a detector; each dollar and token of a session counts in one
                finding at most.
    ");
    insta::assert_snapshot!(shell.ask("\\d prices"), @r"
    table   column           type    unit  nullable  meaning
    prices  model            text    –     –         Model as priced; joins to `usage.model_key`.
    prices  provider         text    –     yes       Provider of the model.
    prices  valid_from       text    day   yes       First day of the price; null if it has none.
    prices  valid_until      text    day   yes       Day after the last one of the price; null if it is
                                                     still valid.
    prices  kind             text    –     –         Kind of price. One of: input, cache_read,
                                                     cache_write_5m, cache_write_1h, output, web_search.
    prices  tier             text    –     –         Tier of the requests. One of: standard,
                                                     long_context, priority, flex, fast, ultrafast,
                                                     batch.
    prices  threshold        bigint  –     yes       Input tokens above which the long-context price
                                                     applies to the whole request.
    prices  usd_per_million  double  USD   –         Price. USD for a million tokens (for a million
                                                     searches if kind is web_search).
    ");
    assert!(shell.ask("\\l").contains("  cost_by_day "));
    assert!(shell.ask("\\?").contains("\\run NAME [PARAMETER=VALUE …]"));
    assert!(shell.ask("help").contains("\\run NAME [PARAMETER=VALUE …]"));
    assert_eq!(shell.ask("\\f json"), "");
    insta::assert_snapshot!(shell.ask("select 1 as a;"), @r#"
    [
    {"a":1}
    ]
    "#);
    insta::assert_snapshot!(shell.ask("\\run cost_by_agent since=2025-08-05 until=2025-08-05"), @r#"
    [
    {"agent":"claude-code","cost_usd":0.007515,"unpriced_responses":0,"partial_responses":3,"sessions":3,"responses":3,"input_tokens":30,"cache_read_tokens":3000,"cache_write_tokens":1500,"output_tokens":60,"last_used":"2025-08-05T10:01:00Z"}
    ]
    "#);
    assert_eq!(shell.ask("\\f table"), "");
    let file = bench.path().join("rows.csv");
    shell.ask(&format!("\\o {}", file.display()));
    assert_eq!(shell.ask("select 1 as a;"), format!("written to `{}`\n", file.display()));
    assert_eq!(fs::read_to_string(file).unwrap(), "a\n1\n");
    assert!(shell.ask("select 2 as b;").contains("b\n2\n"));
    shell.press("quit\r");
    shell.0.exp_eof().unwrap();
    assert!(matches!(shell.0.process().wait().unwrap(), WaitStatus::Exited(_, 0)));
}

#[test]
fn a_table_shows_so_many_rows_and_counts_the_others() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    let five = "select value from generate_series(1, 5) order by 1;";
    assert!(
        shell
            .ask("select value from generate_series(1, 1003) order by 1;")
            .contains("\n1,000\n\n3 more rows (`\\limit off`")
    );
    shell.ask("\\limit 2");
    insta::assert_snapshot!(shell.ask(five), @r#"
    value
        1
        2

    3 more rows (`\limit off` shows all, `\o FILE` writes all)
    "#);
    assert_eq!(shell.ask("\\limit"), "2\n");
    shell.ask("\\limit off");
    assert!(shell.ask(five).ends_with("\n    5\n"));
    shell.ask("\\limit 2");
    shell.ask("\\f csv");
    assert_eq!(shell.ask(five), "value\n1\n2\n3\n4\n5\n");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn one_query_on_a_terminal_is_limited_too() {
    let bench = bench();
    let query = "sql --limit 2 'select value from generate_series(1, 5) order by 1'";
    let printed = |arguments: &str| plain(&on_terminal(&bench, arguments).exp_eof().unwrap());
    insta::assert_snapshot!(printed(query), @r"
    value
        1
        2

    3 more rows (`--limit off` shows all)
    ");
    assert_eq!(printed(&format!("{query} -f csv")), "value\n1\n2\n");
    assert!(!printed(&format!("{query} | cat")).contains("more rows"));
    assert!(printed(&format!("{query} -f table | cat")).contains("3 more rows"));
    fs::create_dir_all(bench.path().join(".config/llrem")).unwrap();
    fs::write(bench.path().join(".config/llrem/config.toml"), "limit = 1").unwrap();
    assert!(printed("query cost_by_session").contains("2 more rows (`--limit off` shows all"));
    assert!(!printed("query cost_by_session --limit off").contains("more rows"));
    fs::write(bench.path().join(".config/llrem/config.toml"), "limit = 'many'").unwrap();
    assert_eq!(printed("sql 'select 1'"), "error: `many` is not a limit; write a number of rows, or off\n");
}

#[test]
fn ctrl_c_ends_the_query_and_not_the_shell() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    let endless = "from generate_series(1, 1000000000) a cross join generate_series(1, 1000000000) b";
    for query in [format!("select count(*) {endless};"), format!("select a.value {endless}; select 1;")] {
        shell.press(&format!("{query}\r"));
        shell.until(TAKEN);
        shell.press("\u{3}");
        let printed = shell.until(ASKING);
        assert!(printed.ends_with("interrupted\n"), "{printed}");
        shell.until(PROMPT);
        assert!(shell.ask("select 2 as b;").contains("b\n2\n"));
    }
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn what_was_typed_is_there_the_next_time() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    shell.ask("select 1 as first;");
    shell.press("select 2\r");
    shell.until(GOES_ON);
    shell.ask("as second;");
    // Lines that begin with a space are not kept.
    shell.ask(" select 3 as hidden;");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
    let path = history(&bench);
    assert_eq!(fs::read_to_string(&path).unwrap(), "#V2\nselect 1 as first;\nselect 2\\nas second;\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

    let mut shell = Shell::start(&bench);
    // Of the three, one leads from the second line of a statement to its first.
    let printed = shell.ask(&format!("{UP}{UP}{UP}"));
    assert!(printed.contains("first\n"), "{printed}");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
    assert!(fs::read_to_string(&path).unwrap().ends_with("second;\nselect 1 as first;\n"));
}

#[test]
fn the_history_is_where_it_is_wanted() {
    let bench = bench();
    let mut shell = Shell::with(&bench, "sql");
    shell.ask("select 1;");
    drop(shell);
    fs::remove_file(history(&bench)).unwrap();
    let config = bench.path().join("config.toml");
    for (text, kept) in [("history = 'off'", false), ("history = 'mine/history'", true)] {
        fs::write(&config, text).unwrap();
        let mut shell = Shell::with(&bench, "sql --config $HOME/config.toml");
        shell.ask("select 1;");
        assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
        assert_eq!(bench.path().join("mine/history").exists(), kept);
        assert!(!history(&bench).exists());
    }
}

#[test]
fn tab_completes() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    assert!(shell.ask(&format!("select proj{TAB} from sess{TAB};")).contains("project\n"));
    assert!(shell.ask(&format!("\\d pri{TAB}")).contains("usd_per_million"));
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn each_query_sees_the_lake_as_it_is() {
    let bench = bench();
    let mut shell = Shell::with(&bench, "sql --color never -f csv");
    let counts = "select (select count(*) from messages) as m, (select count(*) from sources) as s, (select count(*) from runs) as r;";
    assert_eq!(shell.ask(counts), "m,s,r\n6,3,1\n");
    for number in 1..=3 {
        let mut session = Transcript::new(&format!("session-{number}"), "2025-08-05T10:00:00Z");
        session.prompt("Hello").reply("Hi").prompt("More").reply("Yes");
        bench.transcript(&format!("session-{number}.jsonl"), session.text());
    }
    bench.transcript("new.jsonl", Transcript::new("new", "2025-09-01T10:00:00Z").prompt("New").text());
    bench.extract();
    assert_eq!(shell.ask(counts), "m,s,r\n13,4,2\n");
    assert!(matches!(shell.leave(), WaitStatus::Exited(_, 0)));
}

#[test]
fn colour_is_as_asked_for() {
    let bench = bench();
    let begin = |arguments: &str| {
        let mut shell = on_terminal(&bench, arguments);
        let printed = shell.exp_string(PROMPT).unwrap();
        shell.send_control('d').unwrap();
        printed
    };
    assert!(begin("sql").ends_with("\u{1b}[1m"));
    assert!(!begin("sql --color never").ends_with("\u{1b}[1m"));
    let mut shell = Shell::with(&bench, "sql --color never");
    shell.press("selekt;\r");
    shell.until(TAKEN);
    assert!(shell.0.exp_string(ASKING).unwrap().starts_with("error: "));
}

#[test]
fn a_request_to_terminate_ends_the_shell() {
    let bench = bench();
    let mut shell = Shell::start(&bench);
    shell.ask("select 1;");
    let terminal = shell.0.process().get_file_handle().unwrap();
    let flags = || tcgetattr(&terminal).unwrap().local_flags.contains(LocalFlags::ICANON);
    assert!(!flags());
    shell.0.process_mut().signal(Signal::SIGTERM).unwrap();
    shell.0.exp_eof().unwrap();
    assert!(matches!(shell.0.process().wait().unwrap(), WaitStatus::Exited(_, 130)));
    assert!(flags());
}

#[test]
fn a_shell_without_a_lake_does_not_begin() {
    let bench = Bench::new();
    let mut shell = on_terminal(&bench, "sql");
    assert!(shell.exp_eof().unwrap().contains("no lake at"));
    assert!(matches!(shell.process().wait().unwrap(), WaitStatus::Exited(_, 10)));
    assert!(!history(&bench).exists());
}

/// A note is for people: it is on a terminal, in no pipe, and not in what `-q` leaves.
#[test]
fn a_querys_note_follows_its_rows_on_a_terminal() {
    const NOTE: &str = "Squash merges make commits that no session knows.";
    let bench = bench();
    fs::create_dir_all(bench.path().join(".config/llrem/queries")).unwrap();
    fs::write(bench.path().join(".config/llrem/config.toml"), "query_folders = ['queries']\n").unwrap();
    let mine = "-- name: mine\n-- title: Mine\n-- about: Mine.\n-- note: Squash merges make commits\n\
                -- note: that no session knows.\nselect 1 as one";
    fs::write(bench.path().join(".config/llrem/queries/mine.sql"), mine).unwrap();
    let printed = |arguments: &str| plain(&on_terminal(&bench, arguments).exp_eof().unwrap());
    assert!(printed("query mine --color never").ends_with(&format!("one\n  1\n\n{NOTE}\n")));
    assert!(!printed("query mine --quiet").contains("Squash"));
    let piped = bench.llrem(&["query", "mine"]).output().unwrap();
    assert_eq!((piped.stdout.as_slice(), piped.stderr.as_slice()), (b"one\n1\n".as_slice(), b"".as_slice()));
    let explained = bench.llrem(&["query", "mine", "--explain"]).output().unwrap();
    let explained = String::from_utf8(explained.stdout).unwrap();
    assert!(explained.contains("\n\nNote: Squash merges make commits that no session knows.\n"), "{explained}");
    let mut shell = Shell::with(&bench, "sql --color never");
    assert!(shell.ask("\\run mine").contains(NOTE));
}
