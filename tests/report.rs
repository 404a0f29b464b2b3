//! `llrem report`: the page's figures are those of the queries, what transcripts say in it is text, and it needs nothing
//! beside it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

mod common;
#[path = "common/bench.rs"]
mod lake;
#[path = "common/script.rs"]
mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

use common::home::root;
use common::python;
use lake::{Bench, Transcript, copy_folder, stderr, succeed};
use script::Scripts;

/// What a page shows.
#[derive(Deserialize, PartialEq, Debug)]
struct Page {
    headline: BTreeMap<String, String>,
    /// By section; the first row has the columns' names.
    tables: BTreeMap<String, Vec<Vec<String>>>,
    paragraphs: Vec<String>,
    plots: Vec<Plot>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Plot {
    section: String,
    texts: Vec<String>,
    bars: usize,
}

fn parsed(file: &Path) -> Page {
    let output = succeed(python::script("page.py").arg(file));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The page of a lake.
fn page(bench: &Bench, arguments: &[&str]) -> Page {
    let file = bench.path().join("page.html");
    let mut command = bench.llrem(&["report", "-o", file.to_str().unwrap(), "--timezone", "UTC"]);
    assert!(succeed(command.args(arguments)).stdout.is_empty());
    parsed(&file)
}

/// Sessions of five agents, limits of an account, and everything that detectors look for.
fn rich() -> Bench {
    let bench = Bench::new();
    let examples =
        ["claude-code", "codex", "gemini-cli", "cline", "droid"].map(|agent| format!("{agent}/worked-example"));
    for case in examples.iter().map(String::as_str).chain(["codex/limits"]) {
        copy_folder(&root().join("fixtures").join(case).join("home"), &bench.home());
    }
    for (name, scripts) in Scripts::all(&root().join("tests/detectors")) {
        scripts.prefixed(&name).write_below(&bench.home());
    }
    bench.extract();
    bench
}

fn rows(bench: &Bench, arguments: &[&str]) -> Vec<Value> {
    let output = succeed(bench.llrem(arguments).args(["-f", "json", "--timezone", "UTC"]));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A cell holds what the query gave, as people read it.
fn assert_shows(cell: &str, value: &Value, what: &str) {
    match value {
        Value::Null => assert_eq!(cell, "", "{what}"),
        Value::Number(number) => {
            let shown: f64 =
                cell.replace([',', '$', '%', ' '], "").parse().unwrap_or_else(|_| panic!("{what}: {cell}"));
            let decimals = cell.split_once('.').map_or(0, |(_, rest)| rest.trim_end_matches(" %").len());
            let number = number.as_f64().unwrap() * if cell.ends_with('%') { 100.0 } else { 1.0 };
            let least = 10_f64.powi(-i32::try_from(decimals).unwrap());
            assert!((shown - number).abs() <= least / 2.0 + 1e-9, "{what}: {cell} for {number}");
        }
        Value::String(text) if ["started_at", "last_used", "_seen"].iter().any(|end| what.ends_with(end)) => {
            assert_eq!(cell, text.replace('T', " ").get(..16).unwrap(), "{what}");
        }
        Value::String(text) => assert_eq!(cell, text, "{what}"),
        other => panic!("{what}: {other}"),
    }
}

/// Every cell of a section is the query's; gives the number of rows.
fn assert_table(page: &Page, section: &str, expected: &[Value]) -> usize {
    let [names, shown @ ..] = page.tables[section].as_slice() else { return 0 };
    for (row, expected) in shown.iter().zip(expected) {
        for (name, cell) in names.iter().zip(row) {
            let column = name.replace(' ', "_");
            let value = expected.get(&column).or_else(|| expected.get(format!("{column}_usd"))).unwrap_or(&Value::Null);
            assert_shows(cell, value, &format!("{section} {column}"));
        }
    }
    shown.len()
}

const QUERIES: [&str; 13] = [
    "cost_by_day",
    "cost_by_agent",
    "cost_by_project",
    "cost_by_model",
    "cost_by_branch",
    "cost_by_pull_request",
    "output_by_project",
    "limits",
    "cache_hit_rate_by_day",
    "hours_of_week",
    "tool_use",
    "cost_by_session",
    "data_quality",
];

/// Most rows that the page shows of a query.
fn most(query: &str) -> usize {
    match query {
        "tool_use" => 30,
        "cost_by_session" => 20,
        "cost_by_project" | "cost_by_model" => 25,
        "cost_by_branch" | "cost_by_pull_request" | "output_by_project" | "limits" => 15,
        _ => usize::MAX,
    }
}

#[test]
fn every_figure_is_that_of_a_query() {
    let bench = rich();
    for filters in [[].as_slice(), &["--agent", "claude-code", "--since", "2025-01-01"]] {
        let page = page(&bench, filters);
        let totals = &rows(&bench, &[&["query", "totals"], filters].concat())[0];
        for (name, column) in [
            ("Cost", "cost_usd"),
            ("Sessions", "sessions"),
            ("Prompts", "prompts"),
            ("Responses", "responses"),
            ("Tokens", "total_tokens"),
            ("Input tokens, uncached", "input_tokens"),
            ("Tokens read from a cache", "cache_read_tokens"),
            ("Tokens written to a cache", "cache_write_tokens"),
            ("Output tokens", "output_tokens"),
        ] {
            assert_shows(&page.headline[name], &totals[column], name);
        }
        assert_eq!(page.headline.len(), 9);
        if filters.is_empty() {
            assert_totals(&bench, totals);
            let [days, models] = ["cost_by_day_and_agent", "cost_by_model"].map(|name| rows(&bench, &["query", name]));
            assert_drawn(&page, &days, &models);
        }
        let some = ["cost_by_day", "tool_use", "data_quality"];
        for query in if filters.is_empty() { QUERIES.to_vec() } else { some.to_vec() } {
            let known = if query == "data_quality" { filters.get(..2).unwrap_or_default() } else { filters };
            let expected = rows(&bench, &[&["query", query], known].concat());
            let shown = assert_table(&page, &query.replace('_', "-"), &expected);
            assert_eq!(shown, expected.len().min(most(query)), "{query}");
            assert!(shown > 0 || query == "data_quality", "{query}");
        }
        for by in ["model", "effort"] {
            let expected = rows(&bench, &[&["query", "compare", "--param", &format!("by={by}")], filters].concat());
            assert_eq!(assert_table(&page, &format!("compare-by-{by}"), &expected), expected.len().min(15), "{by}");
        }
        let found = rows(&bench, &[&["detect"], filters].concat());
        assert_eq!(assert_table(&page, "findings", &found), found.len().min(30));
        assert!(found.len() > 30);
        let tally = stderr(&succeed(bench.llrem(&[&["detect", "-f", "csv"], filters].concat()).arg("--no-progress")));
        assert!(page.paragraphs.contains(&format!("{}.", tally.trim())), "{tally}");
        let more = format!("And {} more: llrem detect.", found.len() - 30);
        assert!(page.paragraphs.contains(&more), "{more}");
    }
}

/// The totals are what the parts add up to, and what the tables have.
fn assert_totals(bench: &Bench, totals: &Value) {
    for query in ["cost_by_agent", "cost_by_day_and_agent", "cost_by_model"] {
        let parts = rows(bench, &["query", query]);
        for column in ["responses", "unpriced_responses", "cost_usd"] {
            let sum: f64 = parts.iter().filter_map(|row| row[column].as_f64()).sum();
            assert!((sum - totals[column].as_f64().unwrap()).abs() < 1e-6, "{query} {column}");
        }
    }
    let counted = &rows(
        bench,
        &[
            "sql",
            "select count(distinct agent || root_session_id) as sessions,
                sum(prompts) filter (where not is_subagent) as prompts, sum(total_tokens) as total_tokens
             from sessions where messages > 0 or total_tokens > 0",
        ],
    )[0];
    for column in ["sessions", "prompts", "total_tokens"] {
        assert_eq!(totals[column], counted[column], "{column}");
    }
}

/// The plots, and what the cost leaves out.
fn assert_drawn(page: &Page, days: &[Value], models: &[Value]) {
    let drawn = days.iter().filter(|row| !row["cost_usd"].is_null() && !row["day"].is_null()).count();
    let plots: Vec<_> = page.plots.iter().map(|plot| (plot.section.as_str(), plot.bars)).collect();
    assert_eq!(plots, [("cost-by-day", drawn), ("cache-hit-rate-by-day", 0), ("hours-of-week", 7 * 24)]);
    assert_eq!(page.plots[2].texts.get(..8).unwrap(), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "00:00"]);
    let unpriced = models.iter().filter(|row| row["unpriced_responses"] != 0);
    let unpriced = unpriced.map(|row| format!("{} ({})", row["model"].as_str().unwrap(), row["unpriced_responses"]));
    let unpriced = unpriced.collect::<Vec<_>>().join(", ");
    assert!(unpriced.contains("gemini-3-pro (3)"), "{unpriced}");
    let said = page.paragraphs.iter().find(|text| text.contains("no known price")).unwrap();
    assert!(said.ends_with(&format!("the cost leaves them out: {unpriced}")), "{said}");
}

/// What an agent, a tool or a person wrote stays a text, wherever it is shown.
#[test]
fn what_transcripts_say_is_text() {
    const EVIL: &str =
        "</td></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\u{1b}[2J\u{202e}\u{0}x";
    let bench = Bench::new();
    let mut session = Transcript::new("evil", "2026-01-05T10:00:00Z").in_folder("/home/kim/<b>&'\"<script>x<\u{7}");
    session.prompt(EVIL);
    for _ in 0..4 {
        session.call("<svg onload=alert(3)>", &json!({"command": EVIL, "file_path": EVIL}), "Error: <i>");
    }
    let message = json!({
        "model": "<script>m</script>\u{200b}", "id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "x"}], "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    session.record("assistant", &message);
    bench.transcript("evil.jsonl", session.text());
    bench.extract();
    let page = page(&bench, &["--project", "<b>&'\"<script>x<\u{7}"]);
    let column = |section: &str, name: &str| {
        let [names, first, ..] = page.tables[section].as_slice() else { panic!("no rows in {section}") };
        first[names.iter().position(|known| known == name).unwrap()].clone()
    };
    let shown = "</td></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\\u{1b}[2J\\u{202e}\\u{0}x";
    assert_eq!(column("cost-by-session", "title"), shown);
    assert_eq!(column("cost-by-session", "project"), "<b>&'\"<script>x<\\u{7}");
    assert_eq!(column("tool-use", "name"), "<svg onload=alert(3)>");
    assert!(
        page.paragraphs.iter().any(|text| text.ends_with("<script>m</script>\\u{200b} (1)")),
        "{:?}",
        page.paragraphs
    );
    assert_eq!(page.paragraphs[0], "project <b>&'\"<script>x<\\u{7}");
}

#[test]
fn an_empty_lake_says_so() {
    let bench = Bench::new();
    bench.extract();
    let empty = page(&bench, &[]);
    assert_eq!(empty.paragraphs[1], "The lake has no sessions yet; llrem etl extracts what agents left on a machine.");
    assert_eq!((empty.headline.len(), empty.tables.len(), empty.plots.len()), (0, 0, 0));
    bench.transcript("a.jsonl", Transcript::new("a", "2026-01-05T10:00:00Z").prompt("Hi").text());
    bench.extract();
    let none = page(&bench, &["--since", "2026-02-01", "--until", "2026-02-03"]);
    assert_eq!(
        none.paragraphs.get(..2).unwrap(),
        ["since 2026-02-01 00:00 · until 2026-02-04 00:00", "The lake has no sessions that fit."]
    );
    let unbilled = page(&bench, &[]);
    assert_eq!((unbilled.headline["Sessions"].as_str(), unbilled.headline["Cost"].as_str()), ("1", "–"));
    let missing = bench.path().join("nowhere");
    let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
    let output =
        command.env_clear().env("HOME", bench.path()).arg("--lake").arg(&missing).arg("report").output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(10), 0));
}

/// The page of the lake that machines upload to is that of their own, but for what is not uploaded.
#[test]
fn a_remote_lake_gives_the_same_page() {
    let bench = rich();
    let folder = bench.path().join("uploaded");
    let url = format!("file://{}", folder.display());
    succeed(&mut bench.llrem(&["upload", &url, "--profile", "full"]));
    let own = page(&bench, &[]);
    let file = bench.path().join("remote.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
    command
        .env_clear()
        .env("HOME", bench.path())
        .args(["--lake", &url, "--timezone", "UTC", "report", "-o"])
        .arg(&file);
    succeed(&mut command);
    let remote = parsed(&file);
    assert!(remote.paragraphs.iter().any(|text| text.contains("are not uploaded")), "{:?}", remote.paragraphs);
    let without_quality = |mut page: Page| {
        page.tables.remove("data-quality");
        page.paragraphs.retain(|text| !text.contains("are not uploaded") && !text.starts_with("Made by"));
        page
    };
    assert_eq!(without_quality(remote), without_quality(own));
}

#[test]
fn the_same_lake_gives_the_same_page_wherever_it_goes() {
    let bench = Bench::new();
    copy_folder(&root().join("fixtures/claude-code/worked-example/home"), &bench.home());
    bench.extract();
    let undated = |text: &str| {
        let (before, rest) = text.split_once("<time").unwrap();
        format!("{before}{}", rest.split_once("</time>").unwrap().1)
    };
    let piped = succeed(&mut bench.llrem(&["report", "--timezone", "Asia/Tokyo"]));
    let piped = String::from_utf8(piped.stdout).unwrap();
    let file = bench.path().join("page.html");
    std::fs::write(&file, "mine, and named").unwrap();
    succeed(&mut bench.llrem(&["report", "--timezone", "Asia/Tokyo", "-o", file.to_str().unwrap()]));
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(undated(&piped), undated(&written));
    let refused = bench.llrem(&["report", "-f", "json"]).output().unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    assert!(stderr(&refused).contains("a report is HTML"));
    assert!(piped.ends_with("Days and hours are those of Asia/Tokyo.</p></footer></body></html>"));
}

/// On a terminal, where nobody wants to read it, the page goes to a file; not to one that is something else.
#[test]
fn on_a_terminal_it_goes_to_a_file() {
    let bench = Bench::new();
    bench.extract();
    let folder = bench.path().join("here");
    std::fs::create_dir(&folder).unwrap();
    let file: PathBuf = folder.join("llrem-report.html");
    let run = || {
        let mut command = bench.llrem(&["report", "--no-progress", "--color", "never"]);
        command.current_dir(&folder);
        let mut terminal = rexpect::session::spawn_command(command, Some(120_000)).unwrap();
        terminal.exp_eof().unwrap()
    };
    assert_eq!(run().trim(), "wrote `llrem-report.html`");
    assert!(parsed(&file).paragraphs[1].starts_with("The lake has no sessions"));
    assert_eq!(run().trim(), "wrote `llrem-report.html`", "its own page is replaced");
    std::fs::write(&file, "mine").unwrap();
    let said = run().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("error: `llrem-report.html` exists and is not a report of llrem; name a file with -o FILE"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
