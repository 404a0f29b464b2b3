use std::path::Path;

use chrono_tz::Tz;
use datafusion::scalar::ScalarValue;

use super::{Canned, Library, Purpose};

const HEADER: &str = "-- name: q\n-- title: A query\n-- about: It answers\n-- about: something.\n";

fn parse(rest: &str) -> Result<Canned, String> {
    Canned::parse(Path::new("q.sql"), &format!("{HEADER}{rest}"))
}

fn detector(rest: &str) -> Result<Canned, String> {
    Canned::parse(Path::new("detectors/q.sql"), &format!("{HEADER}{rest}"))
}

const ADVICE: &str = "-- todo: Do it\n-- todo: otherwise.\n-- habit: doing it so\n";

fn bind(canned: &Canned, given: &[(&str, &str)]) -> crate::Result<Vec<(String, ScalarValue)>> {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    canned.bind(&given, Tz::UTC, &|_, _| Ok(42)).map(|statement| statement.parameters)
}

#[test]
fn every_query_that_comes_with_llrem_is_right() {
    let library = Library::load(&[]).unwrap();
    assert!(!library.queries.is_empty());
    for canned in &library.queries {
        assert_eq!(canned.check_parameters(), Ok(()), "{}", canned.name);
        assert!(bind(canned, &[]).is_ok(), "{} cannot run without parameters", canned.name);
        let has_own_columns = canned.purpose == Purpose::Report;
        assert_eq!(!canned.columns.is_empty(), has_own_columns, "columns of {}", canned.name);
    }
}

#[test]
fn a_header_is_read() {
    let canned = parse(
        "-- param: run int = 3 -- Calls in a row.\n-- param: name text = 'it''s' -- A name.\n-- param: since timestamp = null -- Begin.\n\
         -- column: cost_usd -- Cost. USD.\n\nselect $run, $name, $since -- and not $this, nor '$that'",
    )
    .unwrap();
    assert_eq!((canned.name.as_str(), canned.about.as_str()), ("q", "It answers something."));
    assert_eq!(canned.columns, [("cost_usd".to_owned(), "Cost. USD.".to_owned())]);
    assert_eq!(
        canned.parameters.iter().map(|it| it.default.as_deref().unwrap()).collect::<Vec<_>>(),
        ["3", "it's", "null"]
    );
}

#[test]
fn a_detector_can_be_off() {
    let is_off = |rest: &str| detector(&format!("{ADVICE}{rest}")).unwrap().is_off;
    assert_eq!([is_off("-- default: off\nselect 1"), is_off("select 1")], [true, false]);
    let is_within = |rest: &str| detector(&format!("{ADVICE}{rest}")).unwrap().is_within_session;
    assert_eq!([is_within("-- scope: session\nselect 1"), is_within("select 1")], [true, false]);
}

#[test]
fn a_detector_gives_advice() {
    let canned = detector(&format!("{ADVICE}select 1")).unwrap();
    assert_eq!((canned.todo.as_str(), canned.habit.as_str()), ("Do it otherwise.", "doing it so"));
    assert!(canned.explanation().contains("\nWhat to do: Do it otherwise.\n"));
    let reason = |rest: &str| detector(rest).unwrap_err();
    insta::assert_snapshot!(reason("-- habit: doing it so\nselect 1"), @"the header has no `todo`");
    insta::assert_snapshot!(reason("-- todo: Do it.\nselect 1"), @"the header has no `habit`");
    insta::assert_snapshot!(reason("-- todo: Do it.\n-- habit: a b c d e f g h i\nselect 1"), @"`habit` has more than 8 words");
    insta::assert_snapshot!(parse("-- todo: Do it.\nselect 1").unwrap_err(), @"line 5: only a detector has `todo` and `habit`");
}

#[test]
fn wrong_headers_are_refused() {
    let reason = |rest: &str| parse(rest).unwrap_err();
    insta::assert_snapshot!(reason("-- parm: x int = 1 -- X.\nselect 1"), @"line 5: unknown key `parm`; there are name, title, group, about, note, todo, habit, needs, scope, default, param, column, show and total");
    insta::assert_snapshot!(reason("-- param: x int = 1 -- X.\nselect 1"), @"the parameter `x` is declared, but never used");
    insta::assert_snapshot!(reason("select $x"), @"`$x` is used, but no `param` declares it");
    insta::assert_snapshot!(reason("-- param: x number = 1 -- X.\nselect $x"), @"line 5: unknown type `number`; there are int, float, text, bool, date, timestamp");
    insta::assert_snapshot!(reason("-- param: x int = one -- X.\nselect $x"), @"line 5: default of `x`: `one` is no whole number");
    insta::assert_snapshot!(reason("-- default: off\nselect 1"), @"line 5: expected `default: off`, which only a detector can have");
    insta::assert_snapshot!(reason("-- scope: session\nselect 1"), @"line 5: expected `scope: session`, which only a detector can have");
    insta::assert_snapshot!(reason("-- title: again\nselect 1"), @"line 5: `title` stands twice");
    insta::assert_snapshot!(Canned::parse(Path::new("other.sql"), &format!("{HEADER}select 1")).unwrap_err(), @"the header's name is `q`, the file's `other`");
}

#[test]
fn values_are_typed() {
    let canned = parse(
        "-- param: i int -- I.\n-- param: f float = 0.5 -- F.\n-- param: b bool = false -- B.\n-- param: d date = null -- D.\n\
         -- param: t timestamp = null -- T.\nselect $i, $f, $b, $d, $t",
    )
    .unwrap();
    let bound = bind(&canned, &[("i", "7"), ("b", "true"), ("d", "1970-01-11"), ("t", "7d")]).unwrap();
    let values: Vec<ScalarValue> = bound.into_iter().map(|(_, value)| value).collect();
    let expected = [
        ScalarValue::Int64(Some(7)),
        ScalarValue::Float64(Some(0.5)),
        ScalarValue::Boolean(Some(true)),
        ScalarValue::Date32(Some(10)),
        ScalarValue::TimestampMicrosecond(Some(42), Some("UTC".into())),
    ];
    assert_eq!(values, expected);
}

#[test]
fn wrong_parameters_are_named() {
    let canned = parse("-- param: min_run int -- Calls in a row.\nselect $min_run").unwrap();
    insta::assert_snapshot!(bind(&canned, &[]).unwrap_err(), @"`q` needs --param min_run=…: Calls in a row.");
    insta::assert_snapshot!(bind(&canned, &[("min_rn", "1")]).unwrap_err(), @"`q` takes no parameter `min_rn`; did you mean `min_run`?");
    insta::assert_snapshot!(bind(&canned, &[("min_run", "x")]).unwrap_err(), @"parameter `min_run` of `q`: `x` is no whole number");
    let canned =
        parse("-- param: rows int = 5 from 1 -- Rows.\n-- param: by text = 'day' | 'week' -- By.\nselect $rows, $by")
            .unwrap();
    assert!(bind(&canned, &[("rows", "1"), ("by", "week")]).is_ok());
    insta::assert_snapshot!(bind(&canned, &[("rows", "0")]).unwrap_err(), @"parameter `rows` of `q`: `0` is less than 1");
    insta::assert_snapshot!(bind(&canned, &[("by", "hour")]).unwrap_err(), @"parameter `by` of `q`: `hour` is none of day, week");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn a_users_query_replaces_one_of_the_same_name_and_a_broken_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = HEADER.replace("name: q", "name: cost_by_day") + "select 1";
    std::fs::write(folder.path().join("cost_by_day.sql"), &text).unwrap();
    std::fs::write(folder.path().join("broken.sql"), "select 1").unwrap();
    let library = Library::load(&[folder.path().to_owned()]).unwrap();
    assert_eq!(library.find("cost-by-day").unwrap().sql, text);
    assert!(library.find("broken").unwrap_err().to_string().ends_with("broken.sql`: the header has no `name`"));
    insta::assert_snapshot!(
        library.find("cost_by_dy").unwrap_err(),
        @"there is no query `cost_by_dy`"
    );
}
