//! SQL that makes a `DuckDB` session see a lake as llrem does: the same tables, columns, types and time zone.

use std::fmt::Write;
use std::path::{Component, Path};

use arrow::array::RecordBatch;
use arrow::json::LineDelimitedWriter;

use super::{Scope, prices};
use crate::tables::{LAKE_TABLES, PARTITION_COLUMNS, PRICES, RUNS, SOURCES, TableDef};
use crate::{Error, Result};

const HEAD: &str = "\
-- A lake of llrem for DuckDB: run it in a session, or begin one with it: duckdb -init FILE.
-- sessions, messages, tool_calls and usage are views over the lake's files; runs, sources and prices are copies.
";

/// One statement for each table; with a name, for that table only. The lake's own tables are views, which go with the
/// lake; `DuckDB` cannot read the lake's state, so that tables made of it are copied as they are now.
///
/// # Errors
/// [`Error::Usage`] where `DuckDB` cannot read files from a folder of that name.
pub fn script(scope: Scope<'_>, only: Option<&str>) -> Result<String> {
    let mut script = format!("{HEAD}\nset timezone = {};\n", text(scope.zone.name()));
    for (_, statement) in statements(scope)?.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let _ = write!(script, "\n{statement};\n");
    }
    Ok(script)
}

/// What the session gets, by name: a statement may name those before it.
fn statements(scope: Scope<'_>) -> Result<Vec<(&'static str, String)>> {
    let mut statements = Vec::new();
    for table in LAKE_TABLES {
        statements.push((table.name, view(table, &scope.lake.table_dir(table))?));
    }
    statements.push((RUNS.name, copy(&RUNS, &scope.lake.runs()?)?));
    statements.push((SOURCES.name, copy(&SOURCES, &scope.lake.sources()?)?));
    statements.push((PRICES.name, copy(&PRICES, &prices(scope.prices)?)?));
    Ok(statements)
}

/// A view over a table's files. Its first part has no row: it gives the columns of a table without files, and those
/// that files of an older llrem lack.
fn view(table: &TableDef, folder: &Path) -> Result<String> {
    let columns = table.columns.iter().map(|column| (column.name, column.type_name()));
    let columns: Vec<_> = columns.chain(PARTITION_COLUMNS.map(|(name, _)| (name, "text"))).collect();
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let typed = columns.iter().map(|(name, kind)| format!("cast(null as {kind}) as {name}"));
    let typed = typed.collect::<Vec<_>>().join(", ");
    // Only a younger DuckDB knows the option; every one reads a lake with files.
    let empty = if has_files(folder) { "" } else { ", allow_empty = true" };
    Ok(format!(
        "create or replace view {name} as\nselect {names}\nfrom (\n  select {typed} where false\n  union all by name\n  \
         from read_parquet({files}, union_by_name = true, hive_partitioning = true, hive_types_autocast = false{empty})\n)",
        name = table.name,
        files = text(&pattern(folder)?),
    ))
}

/// A table with these rows. `DuckDB` reads them from JSON in a tenth of the time that it takes for `values`.
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

/// The files of a table, wherever the session runs.
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

/// Why `DuckDB` would not find the files, or would take a folder above the lake for a partition.
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

fn has_files(folder: &Path) -> bool {
    let files = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files.into_iter().any(|file| file.path().extension().is_some_and(|suffix| suffix == "parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_patterns_and_texts_are_made_of_is_escaped() {
        let pattern = |path: &str| pattern(Path::new(path)).unwrap();
        assert_eq!(pattern("/a b/*[x]?/{y}/usage"), "/a b/[*][[]x][?]/{y}/usage/**/*.parquet");
        assert_eq!(text(&pattern("/it's/usage")), "'/it''s/usage/**/*.parquet'");
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
