//! Every canned query gives the same rows, in the same order, on DuckDB as on llrem: its text is unchanged, its
//! parameters are bound as named ones, the tables are those of `llrem schema -f duckdb`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use chrono_tz::Tz;
use datafusion::scalar::ScalarValue;
use llrem::lake::{AnyLake, Lake};
use llrem::query::canned::{Canned, Kind, Library, Purpose};
use llrem::query::{Statement, duckdb};
use llrem::tables::{LAKE_TABLES, STATE_TABLES};
use serde_json::{Value, json};

use crate::answers::{Questioner, row, scope};
use crate::common::home::root;
use crate::common::{Built, Home, python};
use crate::lake_of_all_fixtures;
use crate::script::Scripts;

/// Half an hour off, with a change of the clocks: what counts days or hours has to mind the zone.
pub(crate) const ZONE: Tz = chrono_tz::America::St_Johns;

/// Values of parameters, by name.
pub(crate) type Given = Vec<(String, String)>;

/// Values that are in the lake: its busiest agent, this agent's busiest project, and when two of its sessions began. The
/// one that began at the first moment is in, the one that began at the last is out.
pub(crate) fn filters(lake: &Path) -> Given {
    let value = |sql: &str| row(lake, sql).remove(0);
    let agent = value("select agent from usage group by agent order by count(*) desc, agent limit 1");
    let project = value(&format!(
        "select s.project from usage u join sessions s on s.machine = u.machine and s.agent = u.agent and \
         s.session_id = u.session_id where s.agent = '{agent}' and s.project is not null \
         group by s.project order by count(*) desc, s.project limit 1"
    ));
    let began = |bound: &str| {
        value(&format!("select {bound} from sessions where agent = '{agent}' and project = '{project}' and turns > 0"))
    };
    let (since, until) = (began("min(started_at)"), began("max(started_at)"));
    let values = [("since", since), ("until", until), ("project", project), ("agent", agent)];
    values.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// The sets of parameters of a query: its defaults, filters, and other numbers than the defaults.
pub(crate) const SETS: [&str; 3] = ["defaults", "filters", "numbers"];

/// Sessions in which the detectors find something, by detector.
fn scripts() -> BTreeMap<String, Scripts> {
    Scripts::all(&root().join("tests/detectors"))
}

/// The queries of a kind, with every set that means something to them.
pub(crate) fn statements(purpose: Purpose, filters: &Given) -> Vec<(String, Statement)> {
    let library = Library::load(&[]).unwrap();
    let scripts = scripts();
    let moments = |_: &str, text: &str| Ok(llrem::time::parse_iso(text).unwrap());
    let mut statements = Vec::new();
    for canned in library.queries.iter().filter(|canned| canned.purpose == purpose) {
        let known = |name: &str| canned.parameters.iter().any(|parameter| parameter.name == name);
        let filters: Given = filters.iter().filter(|(name, _)| known(name)).cloned().collect();
        let numbers = match scripts.get(&canned.name) {
            Some(scripts) => scripts.parameters.clone().into_iter().collect(),
            None => lowest(canned),
        };
        for (set, given) in SETS.into_iter().zip([Given::new(), filters, numbers]) {
            if set == SETS[0] || !given.is_empty() {
                let statement = canned.bind(&given, ZONE, &moments).unwrap();
                statements.push((format!("{} ({set})", canned.name), statement));
            }
        }
    }
    statements
}

/// Every table as a whole.
fn tables() -> Vec<(String, Statement)> {
    let whole = LAKE_TABLES.into_iter().chain(STATE_TABLES).map(|table| {
        let keys = table.columns.iter().filter(|column| !(column.data_type)().is_nested());
        let keys = keys.map(|column| format!("{} nulls last", column.name)).collect::<Vec<_>>().join(", ");
        let sql = format!("select * from {} order by {keys}", table.name);
        (table.name.to_owned(), Statement { sql, parameters: Vec::new() })
    });
    whole.collect()
}

/// Limits and thresholds at 1, so that more, or less, comes through than by default.
fn lowest(canned: &Canned) -> Given {
    let whole = canned.parameters.iter().filter(|parameter| parameter.kind == Kind::Int);
    whole.map(|parameter| (parameter.name.clone(), "1".to_owned())).collect()
}

fn bound((name, value): &(String, ScalarValue)) -> (String, Value) {
    let value = match value {
        value if value.is_null() => Value::Null,
        ScalarValue::TimestampMicrosecond(Some(micros), _) => json!({"micros": micros}),
        ScalarValue::Date32(Some(days)) => json!({"days": days}),
        ScalarValue::Int64(Some(number)) => json!(number),
        ScalarValue::Float64(Some(number)) => json!(number),
        ScalarValue::Boolean(Some(truth)) => json!(truth),
        ScalarValue::Utf8(Some(text)) => json!(text),
        other => panic!("no value of a parameter: {other:?}"),
    };
    (name.clone(), value)
}

/// Another engine that sees the lake.
pub(crate) struct Other {
    /// Its name in `engines.py`.
    pub(crate) name: &'static str,
    /// The statements that make it see the lake.
    pub(crate) setup: String,
    /// A query in its dialect.
    pub(crate) dialect: fn(&str) -> String,
    /// `engines.py`, in its environment.
    pub(crate) script: Command,
}

/// Runs every statement on llrem and on DuckDB. Gives the rows of each, which are the same.
fn assert_same_rows(lake: &Path, statements: &[(String, Statement)]) -> BTreeMap<String, usize> {
    let lake = AnyLake::Local(Lake::open(lake).unwrap());
    let setup = duckdb::script(scope(&lake, ZONE), None).unwrap();
    let duckdb = Other { name: "duckdb", setup, dialect: str::to_owned, script: python::script("engines.py") };
    assert_same_rows_on(duckdb, &lake, statements)
}

/// Runs every statement on both engines. Gives the rows of each, which are the same.
pub(crate) fn assert_same_rows_on(
    mut other: Other,
    lake: &AnyLake,
    statements: &[(String, Statement)],
) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = BTreeMap::new();
    let mut cases = Vec::new();
    let mut llrem = Questioner::new(lake, ZONE);
    for (number, (name, statement)) in statements.iter().enumerate() {
        let answer = llrem.ask(statement).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = folder.path().join(format!("{number}.arrow"));
        answer.write(&expected);
        rows.insert(name.clone(), answer.rows());
        let parameters: serde_json::Map<_, _> = statement.parameters.iter().map(bound).collect();
        let sql = (other.dialect)(&statement.sql);
        cases.push(json!({"name": name, "sql": sql, "parameters": parameters, "expected": expected}));
    }
    let job = folder.path().join("job.json");
    let told = json!({"engine": other.name, "setup": other.setup, "zone": ZONE.name(), "cases": cases});
    std::fs::write(&job, told.to_string()).unwrap();
    let output = other.script.arg(&job).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    rows
}

/// A folder's name that no pattern or text may take for its own.
const ODD: &str = if cfg!(windows) { "lake" } else { "it's a [lake] of *?, {x,y} and \"z\"" };

/// Over every fixture and every session and case that the detectors are tested with, in which each query has to say something.
fn assert_same_rows_of(purpose: Purpose, others: Vec<(String, Statement)>) {
    let home = Home::empty();
    let lake = Built::new(&home, ODD);
    lake_of_all_fixtures(&lake);
    for (name, scripts) in scripts() {
        scripts.prefixed(&name).write_below(home.path());
    }
    for (name, cases) in Scripts::all(&root().join("tests/detectors/cases")) {
        cases.prefixed(&format!("{name}-case")).write_below(home.path());
    }
    lake.run();
    let filters = filters(&lake.path);
    let rows = assert_same_rows(&lake.path, &[others, statements(purpose, &filters)].concat());
    let says = |query: &str, set: &str| rows.get(&format!("{query} ({set})")).is_some_and(|rows| *rows > 0);
    let library = Library::load(&[]).unwrap();
    let queries = library.queries.iter().filter(|canned| canned.purpose == purpose).map(|canned| &canned.name);
    let silent: Vec<_> = queries.filter(|query| !SETS.iter().any(|set| says(query, set))).collect();
    assert!(silent.is_empty(), "no session makes these say anything: {silent:?}");
    let filtered = rows.iter().filter(|(name, rows)| name.ends_with("(filters)") && **rows > 0).count();
    assert!(filtered > 3, "{filters:?} leave nothing over, but for {filtered} queries");
}

#[test]
fn reports_and_tables_give_the_same_rows() {
    assert_same_rows_of(Purpose::Report, tables());
}

#[test]
fn detectors_give_the_same_rows() {
    assert_same_rows_of(Purpose::Detector, Vec::new());
}

#[test]
fn an_empty_lake_has_the_same_columns() {
    let home = Home::empty();
    let lake = Built::full(&home);
    let queries = [Purpose::Report, Purpose::Detector].map(|purpose| statements(purpose, &Given::new())).concat();
    let defaults = queries.into_iter().filter(|(name, _)| name.ends_with("(defaults)")).collect();
    assert_same_rows(&lake.path, &[tables(), defaults].concat());
}

/// Returns a column of a report about these sessions; both engines give the same rows.
pub(crate) fn column_of(report: &str, column: &str, script: &str) -> Vec<String> {
    columns_of(report, &[], &[column], script).remove(0)
}

/// Returns columns of a report about these sessions, with values for its parameters.
pub(crate) fn columns_of(report: &str, given: &[(&str, &str)], columns: &[&str], script: &str) -> Vec<Vec<String>> {
    let home = Home::empty();
    toml::from_str::<Scripts>(script).unwrap().write_below(home.path());
    let lake = Built::full(&home);
    let library = Library::load(&[]).unwrap();
    let given: Given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let moments = |_: &str, text: &str| Ok(llrem::time::parse_iso(text).unwrap());
    let statement = library.find(report).unwrap().bind(&given, ZONE, &moments).unwrap();
    assert_same_rows(&lake.path, &[(report.to_owned(), statement.clone())]);
    let lake = AnyLake::Local(Lake::open(&lake.path).unwrap());
    let answer = Questioner::new(&lake, ZONE).ask(&statement).unwrap();
    columns.iter().map(|column| answer.column(column)).collect()
}

/// Clocks in St. John's went from 02:00 back to 01:00 on 2 November 2025, at 04:30 UTC.
#[test]
fn billing_blocks_tell_the_two_equal_hours_apart() {
    let blocks = column_of(
        "billing_blocks",
        "block",
        r#"
        [[session]]
        name = "clocks-go-back"
        at = "2025-11-01T23:10:00Z"
        steps = [
            { prompt = "Water the plants" },
            { reply = "Before midnight" },
            { after = 15_600, reply = "01:00 the first time" },
            { after = 3_600, reply = "01:00 the second time" },
            { after = 14_400, reply = "05:00" },
        ]
        "#,
    );
    assert_eq!(blocks, ["2025-11-02T05:00:00-03:30", "2025-11-02T01:00:00-02:30", "2025-11-01T20:00:00-02:30"]);
}

/// Nine tenths of the way from the second call to the third, of which some engines keep six digits.
#[test]
fn the_95th_percentile_of_durations_is_exact() {
    let timed = |(number, milliseconds)| {
        let result = json!({"type": "user", "toolUseResult": {"durationMs": milliseconds}, "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": format!("call_slow_{number}"), "content": "done"}]}});
        format!("{{ call = 'Bash', input = {{ command = 'date' }}, pending = true }},\n{{ record = '{result}' }},\n")
    };
    let steps: String = [(1, 1), (2, 1), (3, 3_000_001)].into_iter().map(timed).collect();
    let script = format!("[[session]]\nname = 'slow'\nsteps = [{{ prompt = 'Water the plants' }},\n{steps}]");
    assert_eq!(column_of("tool_latency", "p95_ms", &script), ["2700001.0"]);
}
