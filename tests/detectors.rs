//! Every detector on sessions in which it must find something, must not, and stands on its thresholds.
//!
//! Scripts are in `tests/detectors/NAME.toml`, each session with the number of its findings; the findings, whole, in
//! `NAME.ndjson` beside it. `LLREM_UPDATE=1` writes what comes out, to be reviewed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "detectors/filters.rs"]
mod filters;
#[path = "detectors/precision.rs"]
mod precision;
#[path = "common/script.rs"]
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use llrem::etl::{self, Options, Silent};
use llrem::lake::{AnyLake, Lake};
use llrem::query::canned::Library;
use llrem::query::findings::{Detector, Detectors};
use llrem::query::{Engine, Receiver, Scope, Statement};
use serde_json::Value;

use script::Scripts;

/// Columns of every detector, in their order; one that wastes nothing may leave out the last.
const COLUMNS: [&str; 16] = [
    "detector",
    "agent",
    "session_id",
    "project",
    "started_at",
    "severity",
    "occurrences",
    "wasted_tokens",
    "wasted_cost_usd",
    "first_seq",
    "last_seq",
    "evidence",
    "explanation",
    "basis",
    "machine",
    "responses",
];

fn folder(name: &str) -> PathBuf {
    let project = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&project).join(name)
}

/// Paths of the scripts, by detector.
fn scripts() -> BTreeMap<String, PathBuf> {
    script::paths(&folder("tests/detectors"))
}

#[derive(Default)]
struct Rows {
    columns: Vec<String>,
    lines: Vec<u8>,
}

impl Receiver for Rows {
    fn schema(&mut self, schema: &SchemaRef) -> llrem::Result<()> {
        self.columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> llrem::Result<()> {
        let mut writer = arrow::json::LineDelimitedWriter::new(&mut self.lines);
        writer.write(batch)?;
        Ok(writer.finish()?)
    }
}

impl Rows {
    fn of(lake: &Path, statement: &Statement) -> Self {
        Self::with(lake, statement, &[])
    }

    /// The table `findings` is what these detectors find.
    fn with(lake: &Path, statement: &Statement, detectors: &[Detector]) -> Self {
        Self::from(Lake::open(lake).unwrap(), statement, Detectors::These(detectors))
    }

    fn from(lake: Lake, statement: &Statement, detectors: Detectors<'_>) -> Self {
        let lake = AnyLake::Local(lake);
        let scope =
            Scope { lake: &lake, zone: chrono_tz::UTC, prices: None, detectors, scheduler: None, progress: &Silent };
        let mut rows = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut engine = Engine::open(scope).unwrap();
        runtime.block_on(engine.run(statement, &mut rows)).unwrap();
        rows
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.lines).unwrap()
    }

    fn values(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn lake_of<'s>(scripts: impl IntoIterator<Item = &'s Scripts>, folder: &Path) -> PathBuf {
    for scripts in scripts {
        scripts.write_below(&folder.join("home"));
    }
    let lake = folder.join("lake");
    let options = Options {
        home: Some(folder.join("home")),
        jobs: Some(1),
        machine: Some("test".to_owned()),
        ..Options::new(lake.clone())
    };
    etl::run(&options, &Silent).unwrap();
    lake
}

/// The detector with the parameters of its scripts.
fn bound(name: &str, scripts: &Scripts) -> Statement {
    let library = Library::load(&[folder("sql/detectors")]).unwrap();
    let given: Vec<(String, String)> = scripts.parameters.clone().into_iter().collect();
    library.find(name).unwrap().bind(&given, chrono_tz::UTC, &|_, _| panic!("a moment")).unwrap()
}

/// Sessions that do not have what a detector needs.
fn unfit(name: &str, lake: &Path, scripts: &Scripts) -> Vec<Value> {
    let library = Library::load(&[folder("sql/detectors")]).unwrap();
    let needs = library.find(name).unwrap().needs.clone();
    let detector = Detector { name: name.to_owned(), statement: bound(name, scripts), needs, is_within_session: false };
    let sql = format!("select session_id from sessions where not ({})", detector.condition());
    let rows = Rows::of(lake, &Statement { sql, parameters: Vec::new() }).values();
    rows.into_iter().map(|row| row["session_id"].clone()).collect()
}

/// Adds the mistakes in a detector's findings to `problems`.
fn check(name: &str, path: &Path, problems: &mut String) {
    let scripts = Scripts::load(path);
    let folder_of_test = tempfile::tempdir().unwrap();
    let lake = lake_of([&scripts], folder_of_test.path());
    let rows = Rows::of(&lake, &bound(name, &scripts));
    let mut told = |text: String| writeln!(problems, "{name}: {text}").unwrap();

    if rows.columns != COLUMNS && rows.columns != COLUMNS[..COLUMNS.len() - 1] {
        told(format!("columns are {:?}", rows.columns));
    }
    let found = rows.values();
    let unfit = unfit(name, &lake, &scripts);
    if let Some(row) = found.iter().find(|row| unfit.contains(&row["session_id"])) {
        told(format!("{} has a finding, but not what the header says it needs", row["session_id"]));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &found {
        *counts.entry(row["session_id"].as_str().unwrap()).or_default() += 1;
        told_of_row(row, &mut told);
    }
    let id = |session: &script::Session| session.id();
    for session in &scripts.session {
        let count = counts.remove(id(session).as_str()).unwrap_or_default();
        if count != session.found {
            told(format!("{} findings in `{}`, expected {}", count, session.name, session.found));
        }
    }
    for (session, count) in counts {
        told(format!("{count} findings in `{session}`, which no script names"));
    }
    if !scripts.session.iter().any(|session| session.found > 0) || !scripts.session.iter().any(|it| it.found == 0) {
        told("needs a session with a finding, and one without".to_owned());
    }
    told_of_spending(&lake, &found, &mut told);

    let expected = path.with_extension("ndjson");
    if std::env::var_os("LLREM_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&expected, rows.text()).unwrap();
    }
    let expected = std::fs::read_to_string(expected).unwrap_or_default();
    if expected != rows.text() {
        told(format!("gives\n{}instead of\n{expected}", rows.text()));
    }
}

fn told_of_row(row: &Value, told: &mut impl FnMut(String)) {
    let severities = ["low", "medium", "high"];
    if !severities.contains(&row["severity"].as_str().unwrap_or_default()) {
        told(format!("severity is none of {severities:?}: {row}"));
    }
    if !["measured", "estimated"].contains(&row["basis"].as_str().unwrap_or_default()) {
        told(format!("basis is neither measured nor estimated: {row}"));
    }
    if row["occurrences"].as_i64().is_none_or(|count| count < 1) {
        told(format!("no occurrences: {row}"));
    }
    let places = [&row["first_seq"], &row["last_seq"]].map(Value::as_i64);
    if let [Some(first), Some(last)] = places
        && first > last
    {
        told(format!("begins behind its end: {row}"));
    }
    for text in ["evidence", "explanation"] {
        if row[text].as_str().is_none_or(str::is_empty) {
            told(format!("no {text}: {row}"));
        }
    }
}

/// Checks that the waste of a session is a part of its cost.
fn told_of_spending(lake: &Path, found: &[Value], told: &mut impl FnMut(String)) {
    let sql = "select session_id, cost_usd, total_tokens from sessions".to_owned();
    for session in Rows::of(lake, &Statement { sql, parameters: Vec::new() }).values() {
        let findings = found.iter().filter(|row| row["session_id"] == session["session_id"]);
        let (cost, tokens) = findings.fold((0.0, 0), |(cost, tokens), row| {
            (
                cost + row["wasted_cost_usd"].as_f64().unwrap_or_default(),
                tokens + row["wasted_tokens"].as_i64().unwrap_or_default(),
            )
        });
        let spent = session["cost_usd"].as_f64().unwrap_or_default();
        let used = session["total_tokens"].as_i64().unwrap_or_default();
        if cost > spent + 1e-9 || tokens > used {
            told(format!("wastes ${cost} and {tokens} tokens of ${spent} and {used}: {session}"));
        }
    }
}

#[test]
fn detectors_find_what_they_say_and_nothing_else() {
    let mut problems = String::new();
    let only = std::env::var("LLREM_TEST_DETECTOR").ok();
    let scripts = scripts();
    std::thread::scope(|scope| {
        let checks: Vec<_> = scripts
            .iter()
            .filter(|(name, _)| only.as_ref().is_none_or(|only| only == *name))
            .map(|(name, path)| {
                scope.spawn(move || {
                    let mut problems = String::new();
                    check(name, path, &mut problems);
                    problems
                })
            })
            .collect();
        for check in checks {
            problems.push_str(&check.join().unwrap_or_else(|_| "a check panicked\n".to_owned()));
        }
    });
    assert!(problems.is_empty(), "LLREM_UPDATE=1 accepts findings\n{problems}");
}

#[test]
fn every_detector_has_scripts() {
    let detectors: BTreeSet<&str> = llrem::query::canned::detector_names().into_iter().collect();
    let scripts = scripts();
    assert_eq!(detectors, scripts.keys().map(String::as_str).collect());
}

/// A lake of the sessions of all scripts.
fn lake_of_all(folder_of_test: &Path) -> PathBuf {
    let scripts = scripts();
    let scripts: Vec<Scripts> = scripts.iter().map(|(name, path)| Scripts::load(path).prefixed(name)).collect();
    lake_of(&scripts, folder_of_test)
}

#[test]
fn findings_count_each_token_and_dollar_once() {
    let folder_of_test = tempfile::tempdir().unwrap();
    let lake = lake_of_all(folder_of_test.path());
    let detectors: Vec<Detector> = scripts()
        .into_iter()
        .map(|(name, path)| Detector {
            statement: bound(&name, &Scripts::load(&path)),
            needs: None,
            is_within_session: false,
            name,
        })
        .collect();
    let ask = |sql: &str| {
        let statement = Statement { sql: sql.to_owned(), parameters: Vec::new() };
        Rows::with(&lake, &statement, &detectors).values()
    };
    let findings = ask("select * from findings");
    let found_by: BTreeSet<&str> = findings.iter().map(|row| row["detector"].as_str().unwrap()).collect();
    assert_eq!(found_by, llrem::query::canned::detector_names().into_iter().collect());

    let mut problems = String::new();
    told_of_spending(&lake, &findings, &mut |text| writeln!(problems, "{text}").unwrap());
    let wastes = |row: &&Value| row["wasted_tokens"].as_i64() > Some(0) || row["wasted_cost_usd"].as_f64() > Some(0.0);
    let wasting: Vec<&Value> = findings.iter().filter(wastes).collect();
    for (place, a) in wasting.iter().enumerate() {
        for b in wasting.iter().skip(place + 1).filter(|b| b["session_id"] == a["session_id"]) {
            let seq = |row: &Value, end: &str, missing| row[end].as_i64().unwrap_or(missing);
            let overlap = seq(a, "first_seq", 0) <= seq(b, "last_seq", i64::MAX)
                && seq(b, "first_seq", 0) <= seq(a, "last_seq", i64::MAX);
            let is_by_response = a["responses"].is_array() && b["responses"].is_array();
            assert!(is_by_response || !overlap, "both count:\n{a}\n{b}");
        }
    }
    assert_eq!(problems, "");
    let alone = ask("select count(*) as n from findings where wasted_cost_usd > alone_cost_usd + 1e-9");
    assert_eq!(alone[0]["n"], 0);
}

/// A detector whose header says `scope: session` is asked again only about files that have changed.
#[test]
fn findings_of_a_lake_that_grows_are_those_of_the_whole_lake() {
    let folder_of_test = tempfile::tempdir().unwrap();
    let statement = Statement { sql: "select * from findings".to_owned(), parameters: Vec::new() };
    let mut files = BTreeSet::new();
    // At last, another lake takes the place of this one.
    for (half, is_new) in [(0, true), (1, false), (1, true)] {
        if is_new {
            for old in ["home", "lake"].map(|name| folder_of_test.path().join(name)).iter().filter(|old| old.exists()) {
                std::fs::remove_dir_all(old).unwrap();
            }
        }
        // Each month has files of its own.
        let added = (0..).zip(scripts()).map(|(number, (name, path))| {
            Scripts::load(&path).prefixed(&name).half(half).later(80 * (number % 4) + if half == 0 { 0 } else { 40 })
        });
        let lake = lake_of(&added.collect::<Vec<_>>(), folder_of_test.path());
        let before = std::mem::replace(&mut files, file_names(&lake.join("sessions")));
        assert!(is_new || !files.is_disjoint(&before), "most files stay");
        let open = || Lake::open(&lake).unwrap();
        let whole = Rows::from(open(), &statement, Detectors::All(&[]));
        let cache = folder_of_test.path().join("cache");
        let grown = Rows::from(open().with_cache(Some(cache)), &statement, Detectors::All(&[]));
        assert_eq!(grown.values(), whole.values());
        assert_ne!(grown.values(), Vec::<Value>::new());
    }
}

/// Returns the names of all files below a folder.
fn file_names(folder: &Path) -> BTreeSet<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| match entry.path().is_dir() {
            true => file_names(&entry.path()),
            false => BTreeSet::from([entry.file_name()]),
        })
        .collect()
}

/// Four responses of 20,710 tokens and $0.010905 each, in the places 1 to 4.
const FOUR_REPLIES: &str = r#"
[[session]]
name = "s"
steps = [{ prompt = "Hello" }, { times = 4, reply = "Hello {n}" }]
"#;

/// A detector that finds one thing in the only session: what it wastes, from `seq` to `seq`, in these responses.
fn finding(name: &str, tokens: i64, cost: f64, places: (i64, i64), responses: Option<&str>) -> Detector {
    let responses = responses.map_or_else(String::new, |responses| {
        format!(", array['msg_s_{}'] as responses", responses.replace(' ', "', 'msg_s_"))
    });
    let sql = format!(
        "select '{name}' as detector, agent, session_id, project, started_at, 'low' as severity, 1 as occurrences, \
         {tokens} as wasted_tokens, {cost} as wasted_cost_usd, {} as first_seq, {} as last_seq, 'e' as evidence, \
         'x' as explanation, 'measured' as basis, machine{responses} from sessions",
        places.0, places.1
    );
    let statement = Statement { sql, parameters: Vec::new() };
    Detector { name: name.to_owned(), statement, needs: None, is_within_session: false }
}

/// Name, tokens and millionths of a dollar of each finding.
fn counted(detectors: &[Detector]) -> Vec<String> {
    let folder_of_test = tempfile::tempdir().unwrap();
    let scripts: Scripts = toml::from_str(FOUR_REPLIES).unwrap();
    let lake = lake_of([&scripts], folder_of_test.path());
    let sql = "select detector, wasted_tokens, cast(round(wasted_cost_usd * 1e6) as bigint) as cost, \
               cast(round(alone_cost_usd * 1e6) as bigint) as alone from findings order by detector";
    let rows = Rows::with(&lake, &Statement { sql: sql.to_owned(), parameters: Vec::new() }, detectors).values();
    let text = |row: &Value| format!("{} {} {} {}", row["detector"], row["wasted_tokens"], row["cost"], row["alone"]);
    rows.iter().map(|row| text(row).replace('"', "")).collect()
}

#[test]
fn a_response_counts_for_the_finding_that_wastes_most_of_it() {
    let half = finding("half", 41_420, 0.02181, (1, 4), Some("1 2 3 4"));
    let one = finding("one", 20_710, 0.010_905, (2, 2), Some("2"));
    let fifth = finding("fifth", 8_284, 0.004_362, (1, 4), Some("3 4"));
    assert_eq!(counted(std::slice::from_ref(&half)), ["half 41420 21810 21810"]);
    assert_eq!(counted(&[half, one, fifth]), ["fifth 0 0 4362", "half 31065 16358 21810", "one 20710 10905 10905"]);
}

#[test]
fn findings_that_name_no_responses_overlap_by_range() {
    let named = finding("named", 20_710, 0.010_905, (1, 3), Some("1"));
    let inside = finding("inside", 1_000, 0.001, (3, 3), None);
    let after = finding("after", 1_000, 0.001, (4, 4), None);
    assert_eq!(
        counted(&[named, inside, after]),
        ["after 1000 1000 1000", "inside 0 0 1000", "named 20710 10905 10905"]
    );
}

fn llrem(folder_of_test: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = assert_cmd::Command::cargo_bin("llrem").unwrap();
    command.env_clear().env("HOME", folder_of_test).env("TZ", "UTC").current_dir(folder_of_test);
    command.args(["--lake", "lake"]).args(arguments).output().unwrap()
}

#[test]
fn detect_filters_ranks_and_fails_on_what_it_is_told_to() {
    let folder_of_test = tempfile::tempdir().unwrap();
    lake_of_all(folder_of_test.path());
    let run = |arguments: &[&str]| llrem(folder_of_test.path(), arguments);
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let output = run(&[&["detect", "-f", "ndjson"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&[]);
    let costs: Vec<f64> = all.iter().map(|row| row["wasted_cost_usd"].as_f64().unwrap_or(-1.0)).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");

    let is_off = |row: &Value| row["detector"] == "overqualified_model";
    assert!(!all.iter().any(is_off));
    let named = lines(&["overqualified_model"]);
    assert!(!named.is_empty() && named.iter().all(is_off));

    // One detector is enough for what all share.
    let cascades = |arguments: &[&str]| lines(&[&["error_cascades"], arguments].concat());
    let found = cascades(&[]);
    assert!(!found.is_empty() && found.iter().all(|row| row["detector"] == "error_cascades"));
    assert_eq!(cascades(&["-n", "1"]), found[..1]);
    let longest = cascades(&["--param", "min_run=12"]);
    assert!(longest.len() < found.len());
    assert_eq!(cascades(&["-p", "error_cascades.min_run=12"]), longest);
    let of = |keeps: &dyn Fn(&Value) -> bool| found.iter().filter(|row| keeps(row)).cloned().collect::<Vec<_>>();
    assert_eq!(cascades(&["--severity", "high"]), of(&|row| row["severity"] == "high"));
    assert_eq!(cascades(&["--min-cost", "0.1"]), of(&|row| row["wasted_cost_usd"].as_f64() >= Some(0.1)));
    let session = "error_cascades-three-failures";
    assert_eq!(cascades(&["--session", session]), of(&|row| row["session_id"] == session));
    assert_eq!(cascades(&["--since", "2030-01-01"]), Vec::<Value>::new());
    let first_at = |row: &Value| row["first_at"].as_str().unwrap().to_owned();
    let later = found.iter().find(|row| *first_at(row) > *row["started_at"].as_str().unwrap()).unwrap();
    let moment = first_at(later);
    assert_eq!(cascades(&["--since", &moment]), of(&|row| first_at(row) >= moment));
    assert_eq!(cascades(&["--until", &moment]), of(&|row| first_at(row) < moment));

    let failing = run(&["detect", "error_cascades", "--fail-on", "high"]);
    assert_eq!(failing.status.code(), Some(4));
    assert!(!failing.stdout.is_empty());
    assert_eq!(run(&["detect", "error_cascades", "--fail-on", "low", "--since", "2030-01-01"]).status.code(), Some(0));
    for (arguments, said) in [
        (["detect", "error_cascade"], "hint: error_cascades?"),
        (["detect", "cost_by_day"], "`cost_by_day` is a report; run it with `llrem query cost_by_day`"),
        (["detect", "--param=nothing=1"], "none of these detectors has a parameter `nothing`"),
        (["detect", "--param=error_cascades.min_run=many"], "`many` is no whole number"),
    ] {
        let output = run(&arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{arguments:?}: {stderr}");
    }
    let explained = String::from_utf8(run(&["detect", "--explain", "error_cascades"]).stdout).unwrap();
    assert!(explained.contains("min_run int = 3") && explained.contains("wasted_cost_usd"), "{explained}");
}

#[test]
fn a_detector_of_the_user_is_one_more() {
    let folder_of_test = tempfile::tempdir().unwrap();
    lake_of_all(folder_of_test.path());
    let detectors = folder_of_test.path().join("own/detectors");
    std::fs::create_dir_all(&detectors).unwrap();
    let header =
        |name: &str| format!("-- name: {name}\n-- title: Own\n-- about: Of the user.\n-- todo: Stop.\n-- habit: own\n");
    let columns = "agent, session_id, project, started_at, 'low' as severity, 1 as occurrences, total_tokens as wasted_tokens, \
                   cost_usd * 2 as wasted_cost_usd, null as first_seq, null as last_seq, 'e' as evidence, 'x' as explanation, \
                   'estimated' as basis, machine";
    let own = format!("{}select 'everything' as detector, {columns} from sessions", header("everything"));
    std::fs::write(detectors.join("everything.sql"), own).unwrap();
    let config = folder_of_test.path().join("llrem.toml");
    std::fs::write(&config, "query_folders = ['own']").unwrap();
    let run = |arguments: &[&str]| llrem(folder_of_test.path(), &[&["--config", "llrem.toml"], arguments].concat());

    let sums = "select sum(f.wasted) <= sum(s.cost_usd) + 1e-9 as within from (select session_id, sum(wasted_cost_usd) \
                as wasted from findings group by session_id) f join sessions s on s.session_id = f.session_id";
    let within = run(&["sql", sums, "-f", "csv"]);
    assert_eq!(String::from_utf8(within.stdout).unwrap(), "within\ntrue\n");
    let found = run(&["detect", "everything", "-f", "csv"]);
    assert!(String::from_utf8(found.stdout).unwrap().lines().count() > 2);

    std::fs::write(detectors.join("broken.sql"), format!("{}select 1 as detector", header("broken"))).unwrap();
    let broken = run(&["detect"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(String::from_utf8(broken.stderr).unwrap().contains("detector `broken` gives no column `agent`"));
}
