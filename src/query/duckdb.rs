//! SQL that gives a `DuckDB` session the tables, columns, types and time zone of llrem.

use std::fmt::Write;
use std::path::{Component, Path};

use arrow::array::RecordBatch;
use arrow::json::LineDelimitedWriter;
use datafusion::scalar::ScalarValue;

use super::findings::{self, Detector};
use super::{Scope, parameters, prices};
use crate::lake::AnyLake;
use crate::tables::{FINDINGS, LAKE_TABLES, PARTITION_COLUMNS, PRICES, RUNS, SOURCES, TableDef};
use crate::{Error, Result};

const HEAD: &str = "\
-- A lake of llrem for DuckDB: run it in a session, or begin one with it: duckdb -init FILE.
-- sessions, messages, tool_calls, usage and findings are views over the lake's files; runs, sources and prices copies.
";

/// Returns one statement for each table, or for the named table only. The lake's own tables are views over its files.
/// `DuckDB` cannot read the lake's state, so tables that are computed from it are copied as they are now.
///
/// # Errors
/// Fails with [`Error::Usage`] if `DuckDB` cannot read files from a folder of that name.
pub fn script(scope: Scope<'_>, only: Option<&str>) -> Result<String> {
    let mut script = format!("{HEAD}\nset timezone = {};\n", text(scope.zone.name()));
    for (_, statement) in statements(scope)?.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let _ = write!(script, "\n{statement};\n");
    }
    Ok(script)
}

/// Returns the statements by name. A statement may use tables of those before it.
fn statements(scope: Scope<'_>) -> Result<Vec<(&'static str, String)>> {
    let mut statements = Vec::new();
    for table in LAKE_TABLES {
        statements.push((table.name, view(table, &files(scope.lake, table)?)));
    }
    let (runs, sources) = match scope.lake {
        AnyLake::Local(lake) => (lake.runs()?, lake.sources()?),
        // These tables are not uploaded.
        AnyLake::Remote(_) => (RecordBatch::new_empty(RUNS.schema()), RecordBatch::new_empty(SOURCES.schema())),
    };
    statements.push((RUNS.name, copy(&RUNS, &runs)?));
    statements.push((SOURCES.name, copy(&SOURCES, &sources)?));
    statements.push((PRICES.name, copy(&PRICES, &prices(scope.prices)?)?));
    statements.push((FINDINGS.name, findings_view(&scope.detectors.all()?)?));
    Ok(statements)
}

/// The files of a table.
struct Files {
    pattern: String,
    /// True if there are any. In object storage, somebody has uploaded some.
    exist: bool,
}

fn files(lake: &AnyLake, table: &TableDef) -> Result<Files> {
    match lake {
        AnyLake::Local(lake) => {
            let folder = lake.table_dir(table);
            Ok(Files { pattern: pattern(&folder)?, exist: has_files(&folder) })
        }
        AnyLake::Remote(lake) => {
            let folder = lake.table_url(table);
            Ok(Files { pattern: format!("{}/**/*.parquet", folder.trim_end_matches('/')), exist: true })
        }
    }
}

/// Returns a view over a table's files. Its first part has no rows: it provides the columns of a table without files,
/// and those that files of an earlier llrem lack.
fn view(table: &TableDef, files: &Files) -> String {
    let columns = table.columns.iter().map(|column| (column.name, column.type_name()));
    let columns: Vec<_> = columns.chain(PARTITION_COLUMNS.map(|(name, _)| (name, "text"))).collect();
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    // Only newer versions of DuckDB have the option. Every version reads a lake with files.
    let empty = if files.exist { "" } else { ", allow_empty = true" };
    format!(
        "create or replace view {name} as\nselect {names}\nfrom (\n  {no_row}\n  union all by name\n  \
         from read_parquet({files}, hive_partitioning = true, hive_types_autocast = false{empty})\n)",
        name = table.name,
        no_row = no_row(&columns),
        files = text(&files.pattern),
    )
}

fn no_row(columns: &[(&str, &str)]) -> String {
    let typed = columns.iter().map(|(name, kind)| format!("cast(null as {kind}) as {name}"));
    format!("select {} where false", typed.collect::<Vec<_>>().join(", "))
}

/// Returns a view that runs the detectors and settles overlaps.
fn findings_view(detectors: &[Detector]) -> Result<String> {
    let columns: Vec<_> = findings::columns().map(|column| (column.name, column.type_name())).collect();
    let given = columns.iter().map(|(name, kind)| format!("cast({name} as {kind}) as {name}"));
    let given = given.collect::<Vec<_>>().join(", ");
    let mut found = no_row(&columns);
    for detector in detectors {
        let _ = write!(
            found,
            "\nunion all by name\nfrom (\n{}\n)",
            parameters::in_place(&detector.statement, literal)?.trim_end()
        );
    }
    let counted = findings::SQL.trim_end();
    Ok(format!(
        "create or replace view {} as\nwith found as (\nselect {given} from (\n{found}\n)\n)\nselect * from (\n{counted}\n)",
        FINDINGS.name
    ))
}

fn literal(value: &ScalarValue) -> Result<String, String> {
    Ok(match value {
        value if value.is_null() => "null".to_owned(),
        ScalarValue::Boolean(Some(truth)) => truth.to_string(),
        ScalarValue::Int64(Some(number)) => format!("cast({number} as bigint)"),
        ScalarValue::Float64(Some(number)) => format!("cast({number:e} as double)"),
        ScalarValue::Utf8(Some(value)) => text(value),
        ScalarValue::Date32(Some(_)) => format!("cast('{value}' as date)"),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => format!("make_timestamptz({micros})"),
        other => return Err(format!("`{other}` is no value of a parameter")),
    })
}

/// Returns a table with these rows. `DuckDB` reads them from JSON in a tenth of the time that it takes for `values`.
fn copy(table: &TableDef, rows: &RecordBatch) -> Result<String> {
    let kinds = table.columns.iter().map(|column| format!("\"{}\":\"{}\"", column.name, column.type_name()));
    let kinds = kinds.collect::<Vec<_>>().join(",");
    let mut json = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut json);
    writer.write(rows)?;
    writer.finish()?;
    let json = String::from_utf8_lossy(&json).trim_end().replace('\n', ",\n");
    Ok(format!(
        "create or replace table {} as\nselect unnest(from_json({}, {}), recursive := true)",
        table.name,
        text(&format!("[\n{json}\n]")),
        text(&format!("[{{{kinds}}}]")),
    ))
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the pattern of a table's files, for any working directory.
fn pattern(folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder).map_err(Error::io("find", folder))?;
    let Some(path) = folder.to_str() else {
        return Err(Error::Usage(format!("the path of the lake `{}` is no Unicode text", folder.display())));
    };
    if let Some(reason) = unreadable(&folder) {
        return Err(Error::Usage(format!("DuckDB cannot read `{path}`: {reason}; make a link to the lake")));
    }
    let mut pattern = String::new();
    for letter in path.chars() {
        match letter {
            '*' | '?' | '[' => pattern.extend(['[', letter, ']']),
            '\\' => pattern.push('/'),
            letter => pattern.push(letter),
        }
    }
    pattern.push_str("/**/*.parquet");
    Ok(pattern)
}

/// Returns the reason why `DuckDB` would not find the files, or would take a folder above the lake for a partition.
fn unreadable(folder: &Path) -> Option<String> {
    let names = folder.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    names.into_iter().find_map(|name| match name.split_once('=') {
        _ if name.contains('\\') => Some("it takes the `\\` for the end of a folder's name".to_owned()),
        Some((column, _)) if PARTITION_COLUMNS.iter().any(|(partition, _)| *partition == column) => {
            Some(format!("it takes the folder `{name}` for a partition"))
        }
        _ => None,
    })
}

pub(super) fn has_files(folder: &Path) -> bool {
    let files = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files.into_iter().any(|file| file.path().extension().is_some_and(|suffix| suffix == "parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Statement;
    use crate::query::parameters::in_place;

    #[test]
    fn what_patterns_and_texts_are_made_of_is_escaped() {
        let pattern = |path: &str| pattern(Path::new(path)).unwrap();
        assert_eq!(pattern("/a b/*[x]?/{y}/usage"), "/a b/[*][[]x][?]/{y}/usage/**/*.parquet");
        assert_eq!(text(&pattern("/it's/usage")), "'/it''s/usage/**/*.parquet'");
    }

    #[test]
    fn values_stand_in_the_places_of_parameters_and_nothing_else_changes() {
        let sql = "select $a, $ab, '$a''s', $t -- not $a\nfrom t /* nor $a */ where $n is null or x >= $n\n";
        let parameters = [
            ("a", ScalarValue::Int64(Some(-3))),
            ("ab", ScalarValue::Float64(Some(0.1))),
            ("t", ScalarValue::Utf8(Some("it's".to_owned()))),
            ("n", ScalarValue::TimestampMicrosecond(None, Some("UTC".into()))),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let text = in_place(&Statement { sql: sql.to_owned(), parameters }, literal).unwrap();
        assert_eq!(
            text,
            "select cast(-3 as bigint), cast(1e-1 as double), '$a''s', 'it''s' -- not $a\nfrom t /* nor $a */ where null is null or x >= null\n"
        );
        for detector in findings::Detectors::All(&[]).all().unwrap().iter() {
            let sql = &detector.statement.sql;
            assert_eq!(in_place(&Statement { sql: sql.clone(), parameters: Vec::new() }, literal).unwrap(), *sql);
        }
    }

    #[test]
    fn folders_that_would_give_wrong_rows_are_refused() {
        let reason = |path: &str| pattern(Path::new(path)).unwrap_err().to_string();
        insta::assert_snapshot!(reason("/data/agent=x/lake/usage"), @"DuckDB cannot read `/data/agent=x/lake/usage`: it takes the folder `agent=x` for a partition; make a link to the lake");
        assert!(pattern(Path::new("/data/year=2026/lake/usage")).is_ok());
        if cfg!(unix) {
            insta::assert_snapshot!(reason("/a\\b/usage"), @r"DuckDB cannot read `/a\b/usage`: it takes the `\` for the end of a folder's name; make a link to the lake");
        }
    }
}
