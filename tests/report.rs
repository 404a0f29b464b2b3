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

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use llrem::query::canned::Library;
use serde_json::{Value, json};

use common::home::root;
use common::python;
use lake::{Bench, Transcript, copy_folder, skip, stderr, succeed};
use script::Scripts;

/// When the pages are made.
const NOW: &str = "2026-08-01T08:12:00Z";

/// Returns the content of a page.
fn parsed(file: &Path) -> Value {
    let output = succeed(python::script("page.py").arg(file));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The page of a lake, and its file.
fn page(bench: &Bench, arguments: &[&str]) -> Value {
    let file = bench.path().join("page.html");
    let mut command = bench.llrem(&["report", "-o", file.to_str().unwrap(), "--timezone", "UTC"]);
    assert!(succeed(command.env("LLREM_NOW", NOW).args(arguments)).stdout.is_empty());
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

/// A figure on the page, and half of its last digit.
fn read(shown: &str) -> (f64, f64) {
    let text = shown.trim_start_matches("+ ").replace(['$', ','], "").replace('−', "-");
    if let Some(bound) = text.strip_prefix("< ") {
        let (bound, _) = read(bound);
        return (bound / 2.0, bound / 2.0);
    }
    let (digits, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let factor = match unit {
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "%" => 0.01,
        _ => 1.0,
    };
    let number: f64 = digits.parse().unwrap_or_else(|_| panic!("no figure: {shown}"));
    let decimals = digits.split_once('.').map_or(0, |(_, rest)| rest.len());
    (number * factor, factor * 10_f64.powi(-i32::try_from(decimals).unwrap()) / 2.0)
}

/// A text of the page is a figure as people read it. Nothing is 0 or unknown.
fn assert_shows(shown: &Value, figure: f64, what: &str) {
    let shown = shown.as_str().unwrap_or_else(|| panic!("{what}: {shown}"));
    if ["", "–"].contains(&shown) {
        assert!(figure.abs() < 0.005, "{what}: {figure}");
        return;
    }
    let (number, half) = read(shown);
    assert!((number - figure).abs() <= half + 1e-9, "{what}: {shown} for {figure}");
}

fn sum(rows: &[Value], column: &str) -> f64 {
    rows.iter().filter_map(|row| row[column].as_f64()).sum()
}

/// A table of the page: its heads, rows and last row.
struct Shown<'p> {
    heads: Vec<&'p str>,
    rows: Vec<&'p [Value]>,
}

impl<'p> Shown<'p> {
    fn of(page: &'p Value, section: &str, place: usize) -> Self {
        let table = page["sections"][section]["tables"][place]["rows"].as_array().unwrap();
        let heads = table[0].as_array().unwrap().iter().map(|head| head.as_str().unwrap()).collect();
        Self { heads, rows: table[1..].iter().map(|row| row.as_array().unwrap().as_slice()).collect() }
    }

    fn cell(&self, row: usize, head: &str) -> &'p Value {
        let at = self.heads.iter().position(|known| *known == head).unwrap_or_else(|| panic!("no column {head}"));
        &self.rows[row][at]
    }

    fn last(&self, head: &str) -> &'p Value {
        self.cell(self.rows.len() - 1, head)
    }

    /// The first rows are those of a query.
    fn assert_rows(&self, expected: &[Value], most: usize, columns: &[(&str, &str)]) {
        for (at, row) in expected.iter().take(most).enumerate() {
            for (head, column) in columns {
                assert_shows(self.cell(at, head), row[*column].as_f64().unwrap_or(0.0), &format!("{head} of {row}"));
            }
        }
    }
}

fn assert_tiles(page: &Value, query: &dyn Fn(&str) -> Vec<Value>, found: &[Value]) {
    let totals = &query("totals")[0];
    let tile = |name: &str| &page["tiles"][name]["value"];
    assert_shows(tile("Cost"), totals["cost_usd"].as_f64().unwrap(), "cost");
    assert_shows(tile("Sessions"), totals["sessions"].as_f64().unwrap(), "sessions");
    let billed = query("cost_by_session");
    let subagents = billed.iter().filter(|row| row["session_id"] != row["root_session_id"]).count();
    assert_eq!(page["tiles"]["Sessions"]["notes"][0], format!("+ {subagents} of subagents with usage"));
    assert_shows(tile("Avoidable"), sum(found, "wasted_cost_usd"), "avoidable");
    assert_shows(tile("Saved by caches"), sum(&query("cache_savings"), "saved_usd"), "saved");
    let hours: Vec<Value> =
        query("hours_by_project_day").into_iter().filter(|row| row["is_total"] == json!(true)).collect();
    assert_shows(tile("Active hours"), sum(&hours, "person_hours") + sum(&hours, "agents_alone_hours"), "hours");
    let days: BTreeSet<&str> = hours.iter().filter_map(|row| row["day"].as_str()).collect();
    let note = page["tiles"]["Active hours"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with(&format!("on {} of ", days.len())), "{note}");
    let caveat = page["caveat"].as_str().unwrap_or_default();
    for (column, words) in [("unpriced_responses", "no known price"), ("partial_responses", "only in part")] {
        let count = totals[column].as_i64().unwrap();
        assert_eq!(caveat.contains(words), count > 0, "{caveat}");
        assert!(count == 0 || caveat.contains(&count.to_string()), "{count}: {caveat}");
    }
}

fn assert_days(page: &Value, query: &dyn Fn(&str) -> Vec<Value>) {
    let (rows, totals) = (query("cost_by_day_and_agent"), &query("totals")[0]);
    let shown = Shown::of(page, "days", 0);
    assert_shows(shown.last("Cost"), totals["cost_usd"].as_f64().unwrap(), "the sum of the bars");
    let mut agents: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &rows {
        *agents.entry(row["agent"].as_str().unwrap()).or_default() += row["cost_usd"].as_f64().unwrap_or(0.0);
    }
    let key = page["sections"]["days"]["key"].as_array().unwrap();
    let priced = agents.iter().filter(|(_, sum)| **sum > 0.0);
    for (agent, sum) in priced {
        let title = llrem::agents::by_id(agent).unwrap().about().title;
        let own = key.iter().find(|item| item.as_str().unwrap().starts_with(&format!("{title} ")));
        let own = own.unwrap_or_else(|| panic!("no key of {title}")).as_str().unwrap();
        assert_shows(&json!(own.strip_prefix(title).unwrap().trim()), *sum, title);
        if key.len() > 1 {
            assert_shows(shown.last(title), *sum, title);
        }
    }
    let bars = page["sections"]["days"]["plots"][0]["bars"].as_u64().unwrap();
    assert!(bars > 0 && bars <= 62 * 7, "{bars}");
}

fn assert_waste(page: &Value, found: &[Value]) {
    let library = Library::load(&[]).unwrap();
    let mut sums: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for finding in found {
        let group = sums.entry(finding["detector"].as_str().unwrap()).or_default();
        *group = (group.0 + finding["wasted_cost_usd"].as_f64().unwrap_or(0.0), group.1 + 1);
    }
    let shown = page["sections"]["waste"]["findings"].as_array().unwrap();
    assert_eq!(shown.len(), sums.values().filter(|(sum, _)| *sum > 0.0).count().min(8));
    for group in shown {
        let title = group["title"].as_str().unwrap();
        let canned = library.detectors().find(|canned| canned.title == title).unwrap();
        let (sum, count) = sums[canned.name.as_str()];
        let amount = if group["amount"].is_array() { &group["amount"][0] } else { &group["amount"] };
        assert_shows(amount, sum, title);
        assert!(group["count"].as_str().unwrap().starts_with(&format!("{count} finding")), "{group}");
        assert_eq!(
            group["todo"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join(" "),
            canned.todo
        );
        let examples = group["examples"].as_array().unwrap();
        assert!((1..=3).contains(&examples.len()), "{group}");
        let mut own: Vec<f64> = found
            .iter()
            .filter(|it| it["detector"] == json!(canned.name))
            .filter_map(|it| it["wasted_cost_usd"].as_f64())
            .collect();
        own.sort_by(|one, other| other.total_cmp(one));
        for (example, cost) in examples.iter().zip(own) {
            assert_shows(&example[0], cost, title);
            assert!(example[2].as_str().unwrap().starts_with("llrem show "), "{example}");
        }
    }
    let last = page["sections"]["waste"]["paragraphs"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(last.ends_with(&format!("lists all {} findings.", found.len())), "{last}");
}

fn assert_tables(page: &Value, query: &dyn Fn(&str) -> Vec<Value>, found: &[Value]) {
    let totals = &query("totals")[0];
    let projects = query("cost_by_project");
    let shown = Shown::of(page, "projects", 0);
    shown.assert_rows(&projects, 10, &[("Cost", "cost_usd"), ("Sessions", "sessions")]);
    for (at, project) in projects.iter().take(10).enumerate() {
        let own: Vec<Value> = found.iter().filter(|it| it["project"] == project["project"]).cloned().collect();
        assert_shows(shown.cell(at, "Avoidable"), sum(&own, "wasted_cost_usd"), &project.to_string());
    }
    assert_shows(shown.last("Cost"), totals["cost_usd"].as_f64().unwrap(), "projects");
    assert_shows(shown.last("Avoidable"), sum(found, "wasted_cost_usd"), "projects");
    assert_shows(shown.last("Tokens"), totals["total_tokens"].as_f64().unwrap(), "projects");
    let models: Vec<Value> = query("cost_by_model").into_iter().filter(|row| !row["cost_usd"].is_null()).collect();
    let shown = Shown::of(page, "models", 0);
    shown.assert_rows(
        &models,
        10,
        &[("Cost", "cost_usd"), ("A million tokens", "million_tokens_usd"), ("Responses", "responses")],
    );
    assert_shows(shown.last("Cost"), totals["cost_usd"].as_f64().unwrap(), "models");
    let mut roots: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let sessions = query("cost_by_session");
    for row in &sessions {
        let key = (row["agent"].as_str().unwrap(), row["root_session_id"].as_str().unwrap());
        *roots.entry(key).or_default() += row["cost_usd"].as_f64().unwrap_or(0.0);
    }
    let mut costs: Vec<f64> = roots.into_values().collect();
    costs.sort_by(|one, other| other.total_cmp(one));
    let shown = Shown::of(page, "sessions", 0);
    for (at, cost) in costs.into_iter().take(8).enumerate() {
        assert_shows(shown.cell(at, "Cost"), cost, "session");
    }
    let tools = query("tool_use");
    let shown = Shown::of(page, "tools", 0);
    assert_shows(shown.last("Calls"), sum(&tools, "calls"), "calls");
    assert_shows(shown.last("Failed"), sum(&tools, "errors"), "failed");
    let hours = query("hours_of_week");
    let parts = Shown::of(page, "when", 0);
    let figures = parts.rows.iter().flat_map(|row| &row[1..]).map(|cell| read(cell.as_str().unwrap()).0);
    assert!((figures.sum::<f64>() - sum(&hours, "responses")).abs() < 0.5);
}

/// Checks what the money brought, what caches saved, and what is left out.
fn assert_rest(page: &Value, query: &dyn Fn(&str) -> Vec<Value>) {
    let output = query("output_by_project");
    let facts = &page["sections"]["output"]["facts"];
    for (name, expected) in [
        ("Commits", sum(&output, "commits")),
        ("Lines", sum(&output, "lines_added")),
        ("Test runs", sum(&query("test_runs"), "runs")),
    ] {
        if let Some(fact) = facts[name].as_str() {
            let digits: String = fact.chars().skip_while(|letter| !letter.is_ascii_digit()).collect();
            let end = digits.find(|letter: char| !letter.is_ascii_digit() && letter != ',').unwrap_or(digits.len());
            let (number, _) = read(digits.get(..end).unwrap());
            // The note follows without a space.
            assert!(digits.starts_with(&format!("{expected}")) || (number - expected).abs() < 0.5, "{name}: {fact}");
        } else {
            assert!(expected.abs() < 0.5, "{name}: {expected}");
        }
    }
    let savings = query("cache_savings");
    let texts = page["sections"]["cache"]["plots"][0]["texts"].as_array().unwrap();
    assert_shows(&texts[1], sum(&savings, "uncached_usd"), "without caches");
    assert_shows(&texts[3], sum(&savings, "cost_usd"), "paid");
    let mut problems: BTreeMap<String, f64> = BTreeMap::new();
    for row in query("data_quality") {
        *problems.entry(row["problem"].as_str().unwrap().to_owned()).or_default() += row["items"].as_f64().unwrap();
    }
    let points = page["sections"]["left-out"]["points"].as_array().unwrap();
    for (at, (problem, items)) in problems.iter().enumerate() {
        let is_said = |point: &&Value| point.as_str().unwrap().replace(',', "").starts_with(&format!("{items} "));
        assert!(points.iter().any(|point| is_said(&point)), "{at} {problem}: {items} not in {points:#?}");
    }
}

#[test]
fn every_figure_is_that_of_a_query() {
    let bench = rich();
    for filters in [["--all"].as_slice(), &["--agent", "claude-code", "--since", "2025-01-01"]] {
        let page = page(&bench, filters);
        let known = if filters == ["--all"] { &[] } else { filters };
        let query = |name: &str| rows(&bench, &[&["query", name], known].concat());
        let found = rows(&bench, &[&["detect"], known].concat());
        assert!(found.len() > 30);
        assert_tiles(&page, &query, &found);
        assert_days(&page, &query);
        assert_waste(&page, &found);
        assert_tables(&page, &query, &found);
        assert_rest(&page, &query);
    }
}

/// Two months of two agents: what a manager reads first.
fn months() -> Bench {
    let bench = Bench::new();
    let session = |name: &str, begin: &str, output: i64, model: &str| {
        let mut session = Transcript::new(name, begin);
        session.prompt("Work");
        let usage = json!({"input_tokens": 1000, "output_tokens": output});
        let message = json!({
            "model": model, "id": format!("m-{name}"), "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "x"}], "usage": usage,
        });
        session.record("assistant", &message);
        bench.transcript(&format!("{name}.jsonl"), session.text());
    };
    for (name, begin, output, model) in [
        ("june-1", "2026-06-03T10:00:00Z", 100_000, "claude-sonnet-4-5"),
        ("june-2", "2026-06-17T10:00:00Z", 100_000, "claude-sonnet-4-5"),
        ("july-1", "2026-07-01T10:00:00Z", 200_000, "claude-sonnet-4-5"),
        ("july-2", "2026-07-16T10:00:00Z", 2_000_000, "claude-sonnet-4-5"),
        ("july-3", "2026-07-31T10:00:00Z", 100_000, "no-such-model"),
    ] {
        session(name, begin, output, model);
    }
    bench.extract();
    bench
}

#[test]
fn the_first_lines_answer_a_manager() {
    let bench = months();
    let page = page(&bench, &[]);
    assert_eq!(page["heading"], "July 2026", "the last whole month");
    assert_eq!(
        page["scope"],
        "1–31 July, UTC · all projects, all agents · list prices: what the same use would cost without a subscription · \
         compared with June 2026"
    );
    assert_eq!(page["lead"], "$33 in July, up from $3.01 in June. The detectors found nothing avoidable.");
    assert_eq!(page["notable"], "One session made nearly all of the bill: shop, Thu 16 Jul, $30.00.");
    assert_eq!(
        page["caveat"],
        "The cost is a floor: 1 response has no known price and 3 were recorded only in part. What is left out"
    );
    let tile = |name: &str| {
        let tile = &page["tiles"][name];
        let notes = tile["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap());
        format!("{} | {} | {}", tile["value"].as_str().unwrap(), notes.collect::<Vec<_>>().join(" | "), tile["bars"])
    };
    assert_eq!(tile("Cost"), "$33.01 | at least | June $3.01 | × 11 | 2");
    assert_eq!(tile("Avoidable"), "$0 | June $0 | 0");
    assert_eq!(tile("Sessions"), "3 | June 2 | 3");
    assert_eq!(tile("Week by week"), "– | 27–31 July, 5 days | median of 6 weeks before $0.75 | 3");
    let days = &page["sections"]["days"];
    assert_eq!(days["plots"][0]["bars"], 2, "a day without a price has no bar");
    let texts = json!(["$20", "$40", "1 Jul", "8", "15", "22", "29", "$30.00, 16 Jul"]);
    assert_eq!(days["plots"][0]["texts"], texts);
    assert_eq!(days["plots"][1]["about"], "Two rising lines: $33.01 at the end, and $3.01 in June.");
    let points: Vec<&str> = page["sections"]["left-out"]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point.as_str().unwrap())
        .collect();
    assert!(
        points[0]
            .starts_with("1 response has no price and is not in the cost. They used 101 k tokens of no-such-model")
    );
    assert!(points.last().unwrap().starts_with("28 days without use, 8 of them of a weekend."), "{points:?}");
    assert_eq!(page["sections"]["models"]["tables"][0]["rows"][2][1], "no price");
}

/// A session without usage is no day off, and the tables of cost say that they leave it out.
#[test]
fn sessions_without_usage_are_said() {
    let bench = months();
    bench.transcript("july-4.jsonl", Transcript::new("july-4", "2026-07-23T10:00:00Z").prompt("Hi").text());
    bench.extract();
    let page = page(&bench, &[]);
    assert_eq!(page["tiles"]["Sessions"]["value"], "4");
    let projects = &page["sections"]["projects"];
    assert_eq!(Shown::of(&page, "projects", 0).last("Sessions"), "3");
    assert_eq!(
        projects["paragraphs"][0],
        "A subagent counts for the project that it ran in. A session with two projects counts once in the sum. Sessions: \
         those with usage, 3 of 4."
    );
    let points = page["sections"]["left-out"]["points"].as_array().unwrap();
    assert_eq!(
        points.last().unwrap(),
        "27 days without use, 8 of them of a weekend. No session began then, and no tokens were recorded. llrem cannot \
         tell a day off from files that an agent deleted before llrem etl read them."
    );
}

#[test]
fn other_times_have_other_bars() {
    let bench = months();
    let day = page(&bench, &["--since", "2026-07-16", "--until", "2026-07-16"]);
    assert_eq!(day["heading"], "Thursday 16 July 2026");
    assert_eq!(day["lead"], "$30 on Thursday 16 July. The detectors found nothing avoidable.");
    assert_eq!((day["tiles"].as_object().unwrap().len(), &day["nav"][0]), (5, &json!("By hour")));
    assert_eq!(day["sections"]["days"]["plots"].as_array().unwrap().len(), 1);
    let all = page(&bench, &["--all"]);
    assert_eq!((&all["heading"], &all["nav"][0]), (&json!("3 June – 31 July 2026"), &json!("By day")));
    assert_eq!(all["lead"], "$36 from 3 June to 31 July. The detectors found nothing avoidable.");
    let year = page(&bench, &["--since", "2025-01-01"]);
    assert_eq!((&year["heading"], &year["nav"][0]), (&json!("1 January 2025 – 1 August 2026"), &json!("By month")));
    assert!(year["tiles"].as_object().unwrap().contains_key("Month by month"));
    let unpriced = page(&bench, &["--since", "2026-07-31", "--until", "2026-07-31"]);
    assert_eq!(
        unpriced["lead"],
        "101 k tokens on Friday 31 July; their cost is unknown. The detectors found nothing avoidable."
    );
    assert_eq!(unpriced["tiles"]["Tokens"]["value"], "101 k");
}

/// Words of an agent, a tool or a person stay text wherever they are shown.
#[test]
fn what_transcripts_say_is_text() {
    const EVIL: &str =
        "</td></style><script>alert(1)</script> <img src=x onerror=alert(2)>\"'&amp;\u{1b}[2J\u{202e}\u{0}x";
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
    let page = page(&bench, &["--all", "--project", "<b>&'\"<script>x<\u{7}"]);
    let name = |section: &str| Shown::of(&page, section, 0).rows[0][0].clone();
    let title = name("sessions")[0].as_str().unwrap().to_owned();
    // Words that look like a path are replaced.
    assert_eq!(title, "… <img src=x …");
    assert_eq!(name("projects"), "<b>&'\"<script>x<\\u{7}");
    let models: Vec<Value> = Shown::of(&page, "models", 0).rows.iter().map(|row| row[0].clone()).collect();
    assert!(models.contains(&json!("<script>m</script>\\u{200b}")), "{models:?}");
    assert!(page["scope"].as_str().unwrap().contains("project <b>&'\"<script>x<\\u{7}, all agents"));
}

#[test]
fn an_empty_lake_says_so() {
    let bench = Bench::new();
    bench.extract();
    let empty = page(&bench, &[]);
    assert_eq!(empty["lead"], "The lake has no sessions yet; llrem etl extracts what agents left on a machine.");
    assert_eq!((empty["tiles"].as_object().unwrap().len(), empty["sections"].as_object().unwrap().len()), (0, 0));
    bench.transcript("a.jsonl", Transcript::new("a", "2026-01-05T10:00:00Z").prompt("Hi").text());
    bench.extract();
    let none = page(&bench, &["--since", "2026-02-01", "--until", "2026-02-03"]);
    assert_eq!(none["heading"], "1–3 February 2026");
    assert_eq!(
        none["main"],
        "The lake has no sessions that fit.It has Monday 5 January 2026. For all of it: llrem report --all"
    );
    let unbilled = page(&bench, &["--all"]);
    let value = |name: &str| unbilled["tiles"][name]["value"].clone();
    assert_eq!([value("Sessions"), value("Cost")], ["1", "–"]);
    assert_eq!(unbilled["caveat"], "The cost is unknown: 1 session has no token counts. What is left out");
    assert_eq!(unbilled["nav"], json!(["Avoidable", "What is left out"]), "nothing has a cost");
    let points = &unbilled["sections"]["left-out"]["points"];
    assert_eq!(*points, json!(["1 session is not in the cost. It has no token counts. It counts as a session."]));
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
    let own = page(&bench, &["--all"]);
    let file = bench.path().join("remote.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
    command
        .env_clear()
        .env("HOME", bench.path())
        .env("LLREM_NOW", NOW)
        .args(["--lake", &url, "--timezone", "UTC", "report", "--all", "-o"])
        .arg(&file);
    succeed(&mut command);
    let remote = parsed(&file);
    assert!(remote["sections"]["left-out"].to_string().contains("are not uploaded"));
    let without_quality = |mut page: Value| {
        page["sections"]["left-out"] = json!(null);
        page["footer"] = json!(null);
        page
    };
    assert_eq!(without_quality(remote), without_quality(own));
}

/// The page in Chromium, at three widths, in the light and in the dark, and on paper.
#[test]
fn nothing_is_wider_than_the_page_or_too_small() {
    let Some(program) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(found) else {
        return skip("there is no Chromium");
    };
    for (bench, arguments) in [(rich(), ["--all"].as_slice()), (months(), &[])] {
        page(&bench, arguments);
        let file = bench.path().join("page.html");
        let looks = succeed(python::script("browser.py").arg(&program).arg(file));
        let looks: Value = serde_json::from_slice(&looks.stdout).unwrap();
        let states = looks["states"].as_array().unwrap();
        assert_eq!(states.len(), 13);
        for state in states {
            for what in ["wide", "small", "broken", "hidden", "over"] {
                assert_eq!(state[what], json!([]), "{what}: {state}");
            }
            assert!(state["scroll"].as_f64().unwrap() <= 0.0, "{state}");
        }
        assert_eq!(looks["sizes"], json!([[0, 0, 595, 842]]), "A4");
        assert!((2..20).contains(&looks["pages"].as_u64().unwrap()), "{}", looks["pages"]);
    }
}

fn found(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
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
    assert!(piped.contains(", Asia/Tokyo · all projects, all agents ·"));
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
    assert!(parsed(&file)["lead"].as_str().unwrap().starts_with("The lake has no sessions"));
    assert_eq!(run().trim(), "wrote `llrem-report.html`", "its own page is replaced");
    std::fs::write(&file, "mine").unwrap();
    let said = run().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("error: `llrem-report.html` exists and is not a report of llrem; name a file with -o FILE"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
