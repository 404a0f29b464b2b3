//! Two machines' lakes in one bucket, asked by llrem, by DuckDB over S3's protocol, and by Sail over Spark's: the same rows.

use std::collections::BTreeMap;

use llrem::lake::{AnyLake, RemoteLake};
use llrem::query::canned::Purpose;
use llrem::query::{Statement, duckdb, spark};

use crate::common::{Home, python};
use crate::machines::Team;
use crate::parity::{Given, Other, ZONE, assert_same_rows_on, statements};

/// Queries that name what stays on each machine.
const OF_A_MACHINE: [&str; 1] = ["data_quality"];
/// Queries that Sail 0.7 cannot run, and why.
const NOT_ON_SAIL: [(&str, &str); 1] = [("billing_blocks", "it knows no recursive queries")];

/// Some thousand rows: each engine lists and opens every file for each query.
fn team() -> Team {
    Team::of(&["claude-code", "codex"].map(Home::merged))
}

/// The bucket, as engines that read it see it.
fn bucket(team: &Team) -> AnyLake {
    AnyLake::Remote(RemoteLake::new(&team.s3.url(), llrem::remote::Options::default()).unwrap())
}

/// The folder that the server keeps the bucket's objects in.
fn folder(team: &Team) -> AnyLake {
    AnyLake::Remote(RemoteLake::in_folder(&team.s3.objects()).unwrap())
}

/// The suffix of statements with nothing but defaults.
const DEFAULTS: &str = "(defaults)";

/// The query of a statement's name.
fn query_of(statement: &str) -> String {
    statement.split(' ').next().unwrap().to_owned()
}

/// Runs every canned query but these on another engine. They all have rows, which are the same.
fn assert_same_answers(team: &Team, mut other: Other, but: &[&str]) {
    team.s3.set_environment(&mut other.script);
    let left_out = [but, OF_A_MACHINE.as_slice()].concat();
    let reports = statements(Purpose::Report, &Given::new()).into_iter().filter(|(name, _)| name.ends_with(DEFAULTS));
    // With their defaults, where their scripts name no parameters, which come later.
    let detectors: BTreeMap<String, (String, Statement)> =
        statements(Purpose::Detector, &Given::new()).into_iter().map(|asked| (query_of(&asked.0), asked)).collect();
    let queries =
        reports.chain(detectors.into_values()).filter(|(name, _)| !left_out.contains(&query_of(name).as_str()));
    let sums = "select machine, agent, count(*) as responses, sum(total_tokens) as tokens from usage group by machine, agent order by machine, agent";
    let sums = Statement { sql: sums.to_owned(), parameters: Vec::new() };
    let asked: Vec<_> = queries.chain([("sums".to_owned(), sums)]).collect();
    let rows = assert_same_rows_on(other, &folder(team), &asked);
    let silent: Vec<_> = rows.iter().filter(|(_, rows)| **rows == 0).collect();
    assert!(silent.is_empty(), "these have no rows: {silent:?}");
}

#[test]
fn the_bucket_has_the_sums_of_both() {
    let team = team();
    let sums = |machine: &str| {
        format!(
            "select machine, agent, count(*) as responses, sum(total_tokens) as tokens, \
             sum(round(cost_usd * 1e9)) / 1e9 as usd, count(distinct session_id) as sessions \
             from usage where {machine} group by machine, agent order by machine, agent"
        )
    };
    let of_each = team.lakes().map(|lake| crate::lake::sql(&lake.path, &sums("true")));
    assert!(of_each.iter().all(|rows| !rows.is_empty()));
    assert_eq!(team.answer(&["sql", &sums("true")]), of_each.concat());
    assert_eq!(team.answer(&["sql", &sums("machine = 'kim'")]), of_each[1]);
}

#[test]
fn duckdb_answers_as_llrem_does() {
    let team = team();
    let setup = duckdb::script(crate::answers::scope(&bucket(&team), ZONE), None).unwrap();
    let script = python::team_script("engines.py");
    assert_same_answers(&team, Other { name: "duckdb-s3", setup, dialect: str::to_owned, script }, &[]);
}

#[test]
fn sail_answers_as_llrem_does() {
    let team = team();
    let setup = spark::script(crate::answers::scope(&bucket(&team), ZONE), None).unwrap();
    let script = python::team_script("engines.py");
    let dialect = |sql: &str| spark::text(sql).unwrap();
    assert_same_answers(&team, Other { name: "sail", setup, dialect, script }, &NOT_ON_SAIL.map(|(query, _)| query));
}
