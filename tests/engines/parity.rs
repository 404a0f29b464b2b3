//! Every canned query gives the same rows, in the same order, on DuckDB as on llrem: its text is unchanged, its
//! parameters are bound as named ones, the tables are those of `llrem schema -f duckdb`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use chrono_tz::Tz;
use datafusion::scalar::ScalarValue;
use llrem::lake::Lake;
use llrem::query::canned::{Canned, Kind, Library};
use llrem::query::{Scope, Statement, duckdb, findings};
use llrem::tables::{LAKE_TABLES, STATE_TABLES};
use serde_json::{Value, json};

use crate::answers::{Answer, row};
use crate::common::{Built, Home, python};
use crate::{corpus, lake_of_all_fixtures};

/// Half an hour off, with a change of the clocks: what counts days or hours has to mind the zone.
const ZONE: Tz = chrono_tz::America::St_Johns;

/// Values for parameters, by what the set is about.
type Sets = Vec<(&'static str, Vec<(&'static str, String)>)>;

/// Values that are in the lake: its busiest agent, this agent's busiest project, and moments of its responses. Half of
/// what is in the lake lies between the moments; what is at the first is in, what is at the last is out.
fn sets(lake: &Path) -> Sets {
    let value = |sql: &str| row(lake, sql).remove(0);
    let agent = value("select agent from usage group by agent order by count(*) desc, agent limit 1");
    let project = value(&format!(
        "select s.project from usage u join sessions s on s.machine = u.machine and s.agent = u.agent and \
         s.session_id = u.session_id where s.agent = '{agent}' and s.project is not null \
         group by s.project order by count(*) desc, s.project limit 1"
    ));
    let moment = |quarter: usize| {
        value(&format!(
            "select timestamp from (select timestamp, ntile(4) over (order by timestamp) as quarter from usage \
             where timestamp is not null) where quarter = {quarter} order by timestamp desc limit 1"
        ))
    };
    let since = ("since", moment(1));
    let until = ("until", moment(3));
    vec![
        ("since and until", vec![since.clone(), until.clone()]),
        ("all filters", vec![since, until, ("project", project), ("agent", agent)]),
    ]
}

/// The queries that llrem comes with, with their defaults and with every set that means something to them.
fn statements(sets: &Sets) -> Vec<(String, Statement)> {
    let library = Library::load(&[]).unwrap();
    let moments = |_: &str, text: &str| Ok(llrem::time::parse_iso(text).unwrap());
    let mut statements = Vec::new();
    for canned in &library.queries {
        let mut bind = |label: &str, given: &[(String, String)]| {
            let statement = canned.bind(given, ZONE, &moments).unwrap();
            statements.push((format!("{} ({label})", canned.name), statement));
        };
        bind("defaults", &[]);
        for (label, values) in sets {
            let takes = |name: &str| canned.parameters.iter().any(|parameter| parameter.name == name);
            let given = values.iter().filter(|(name, _)| takes(name));
            let given: Vec<_> = given.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            if !given.is_empty() {
                bind(label, &given);
            }
        }
        let low = lowest(canned);
        if !low.is_empty() {
            bind("whole numbers at 1", &low);
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
fn lowest(canned: &Canned) -> Vec<(String, String)> {
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

/// Runs every statement on both engines. Gives the rows of each, which are the same.
fn assert_same_rows(lake: &Path, statements: &[(String, Statement)]) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = BTreeMap::new();
    let mut cases = Vec::new();
    for (number, (name, statement)) in statements.iter().enumerate() {
        let answer = Answer::of(lake, ZONE, statement).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = folder.path().join(format!("{number}.arrow"));
        answer.write(&expected);
        rows.insert(name.clone(), answer.rows());
        let parameters: serde_json::Map<_, _> = statement.parameters.iter().map(bound).collect();
        cases.push(json!({"name": name, "sql": statement.sql, "parameters": parameters, "expected": expected}));
    }
    let open = Lake::open(lake).unwrap();
    let setup =
        duckdb::script(Scope { lake: &open, zone: ZONE, prices: None, detectors: &findings::builtin }, None).unwrap();
    let job = folder.path().join("job.json");
    std::fs::write(&job, json!({"setup": setup, "cases": cases}).to_string()).unwrap();
    let output = python::script("engines.py").arg(&job).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    rows
}

#[test]
fn canned_queries_give_the_same_rows_over_all_fixtures() {
    let home = Home::empty();
    let lake = Built::new(&home, if cfg!(windows) { "lake" } else { "it's a [lake] of *?, {x,y} and \"z\"" });
    lake_of_all_fixtures(&lake);
    assert_same_rows(&lake.path, &tables());
    let sets = sets(&lake.path);
    let rows = assert_same_rows(&lake.path, &statements(&sets));
    let silent: Vec<_> = rows.iter().filter(|(name, rows)| name.ends_with("(defaults)") && **rows == 0).collect();
    assert!(silent.is_empty(), "no fixture makes these say anything: {silent:?}");
    for (label, values) in sets {
        let of_set = rows.iter().filter(|(name, _)| name.ends_with(&format!("({label})")));
        let (saying, silent): (Vec<_>, Vec<_>) = of_set.partition(|(_, rows)| **rows > 0);
        assert!(saying.len() > silent.len(), "{label} {values:?}: no rows of {silent:?}");
    }
}

#[test]
fn canned_queries_give_the_same_rows_over_many_sessions() {
    let home = Home::empty();
    corpus::generate(home.path(), &corpus::Params { bytes: 8_000_000, ..corpus::Params::default() }).unwrap();
    let lake = Built::full(&home);
    assert_same_rows(&lake.path, &statements(&sets(&lake.path)));
}

#[test]
fn an_empty_lake_has_the_same_columns() {
    let home = Home::empty();
    let lake = Built::full(&home);
    assert_same_rows(&lake.path, &tables());
    assert_same_rows(&lake.path, &statements(&Vec::new()));
}
