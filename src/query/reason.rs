//! Says in a line why a query failed, without the engine's own words about itself.

use std::collections::BTreeSet;

use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use super::nearest;
use super::refusal::is_replaced_file;
use crate::Error;
use crate::tables::{LAKE_TABLES, STATE_TABLES, TableDef};

/// Hint at the list of tables and columns.
const LIST: &str = "`llrem schema` lists tables and columns";

/// Columns with which the tables of a lake are joined.
const KEY: &str = "machine, agent, session_id";

/// The table with one row for each session.
const SESSIONS: &str = "sessions";

/// Most characters of the engine's reason.
const LONGEST: usize = 300;

/// Returns the error for files that changed each time the query started.
pub(super) fn replaced(error: &DataFusionError) -> Error {
    let reason = plain(&error.strip_backtrace());
    Error::Query(format!(
        "a file of the lake was replaced, or is damaged, while it was read ({reason}); run the query again, or \
         `llrem verify --read-data`"
    ))
}

/// Returns the failure in one line, without the engine's prefixes.
pub(super) fn explain(error: &DataFusionError) -> Error {
    if is_replaced_file(error) {
        return replaced(error);
    }
    let root = error.find_root();
    if root.to_string().contains("a single SQL statement") {
        return Error::Query("a query is one statement; run several of them separately".to_owned());
    }
    if let DataFusionError::SchemaError(schema, _) = root {
        match schema.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => return unknown_column(field, valid_fields),
            SchemaError::AmbiguousReference { field } => return ambiguous(&field.name),
            _ => {}
        }
    }
    let text = root.strip_backtrace();
    unknown_table(&plain(&text))
        .or_else(|| unknown_function(&text))
        .or_else(|| wrong_types(&text))
        .unwrap_or_else(|| Error::Query(plain(&text)))
}

/// Removes the engine's prefixes, and what it says about itself.
fn plain(text: &str) -> String {
    let prefixes = [
        "Internal error: ",
        "External error: ",
        "Schema error: ",
        "Error during planning: ",
        "SQL error: ",
        "Execution error: ",
        "Arrow error: ",
        "Cast error: ",
        "Parser error: ",
    ];
    let mut text = text;
    while let Some(rest) = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    let text =
        text.split("This issue was likely caused by a bug").next().unwrap_or(text).trim_end_matches(['.', ' ', '\n']);
    let parser = text.strip_prefix("ParserError(\"").and_then(|rest| rest.strip_suffix("\")"));
    let text = parser.map_or_else(|| text.to_owned(), |rest| rest.replace("\\\"", "\""));
    let text = without_grouping(&text).unwrap_or_else(|| text.replace("datafusion.public.", ""));
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

/// Words the refusal of a column that is neither grouped nor aggregated.
fn without_grouping(text: &str) -> Option<String> {
    let (_, rest) = text.strip_prefix("Column in SELECT must be in GROUP BY")?.split_once("column \"")?;
    let (column, _) = rest.split_once('"')?;
    Some(format!("`{column}` must be in `group by` or within an aggregate function, such as `max({column})`"))
}

fn unknown_column(field: &Column, valid: &[Column]) -> Error {
    let valid_names = valid.iter().map(|known| known.name.as_str());
    let tables: BTreeSet<&str> = valid.iter().filter_map(|known| Some(known.relation.as_ref()?.table())).collect();
    let others: Vec<&str> =
        LAKE_TABLES.into_iter().filter(|table| has(table, &field.name)).map(|table| table.name).collect();
    if let (Some(table), Some(other)) = (tables.first().filter(|_| tables.len() == 1), others.first())
        && LAKE_TABLES.iter().any(|known| known.name == *table)
        && field.relation.as_ref().is_none_or(|relation| relation.table() == *table)
        && !others.contains(table)
    {
        if *other != SESSIONS {
            // A join by session would repeat the rows of both.
            return Error::Unknown { what: lacks(table, field, &others), hint: LIST.to_owned() };
        }
        let shared = valid_names.clone().find(|name| name.ends_with("_usd") && has_named(other, name));
        let shared = shared.map_or_else(String::new, |name| format!(", and `{table}.{name}`: both have one"));
        return Error::Unknown {
            what: lacks(table, field, &others),
            hint: format!("`from {table} join {other} using ({KEY})`{shared}"),
        };
    }
    let near = nearest::several(&field.name, valid_names);
    Error::Unknown { what: format!("no column `{}`", field.flat_name()), hint: nearest::question(&near, LIST) }
}

fn lacks(table: &str, field: &Column, others: &[&str]) -> String {
    let verb = if others.len() == 1 { "has" } else { "have" };
    format!("{table} has no column `{}`; {} {verb} it", field.name, others.join(" and "))
}

fn has(table: &TableDef, column: &str) -> bool {
    table.columns.iter().any(|known| known.name == column)
}

fn has_named(table: &str, column: &str) -> bool {
    LAKE_TABLES.iter().any(|known| known.name == table && has(known, column))
}

fn ambiguous(column: &str) -> Error {
    let tables: Vec<String> = LAKE_TABLES
        .into_iter()
        .filter(|table| has(table, column))
        .map(|table| format!("`{}.{column}`", table.name))
        .collect();
    let hint = if tables.is_empty() { "name its table".to_owned() } else { format!("write {}", tables.join(" or ")) };
    Error::Unknown { what: format!("several tables have a column `{column}`"), hint }
}

/// Returns the table that was probably meant, if one was not found.
fn unknown_table(text: &str) -> Option<Error> {
    let name = text.strip_prefix("table '")?.strip_suffix("' not found")?;
    let known = LAKE_TABLES.into_iter().chain(STATE_TABLES).map(|table| table.name);
    let hint = nearest::question(&nearest::several(name, known), LIST);
    Some(Error::Unknown { what: format!("no table `{name}`"), hint })
}

/// Words the engine's guess about a function, if it is near.
fn unknown_function(text: &str) -> Option<Error> {
    let (name, rest) = text.split_once("Invalid function '")?.1.split_once('\'')?;
    let guess = rest.split('\'').nth(1).filter(|guess| nearest::nearest(name, [*guess]).is_some());
    let hint = guess.map_or_else(|| "the functions are those of DataFusion".to_owned(), |guess| format!("`{guess}`?"));
    Some(Error::Unknown { what: format!("there is no function `{name}`"), hint })
}

/// Words the refusal of a function's arguments.
fn wrong_types(text: &str) -> Option<Error> {
    let (_, rest) = text.split_once("No function matches the given name and argument types '")?;
    let (function, types) = rest.split_once('\'')?.0.split_once('(')?;
    let types: Vec<&str> = types.trim_end_matches(')').split(", ").map(named).collect();
    let what = format!("`{function}` does not take {}", types.join(" and "));
    let hint = match types.as_slice() {
        ["a boolean"] => "count what is true with `count(*) filter (where …)`",
        ["a text"] => "convert the text with `cast(… as double)`",
        _ => return Some(Error::Query(what)),
    };
    Some(Error::Unknown { what, hint: hint.to_owned() })
}

/// Returns the name of a type in a sentence.
fn named(kind: &str) -> &str {
    match kind {
        "Boolean" => "a boolean",
        "Utf8" | "Utf8View" | "LargeUtf8" => "a text",
        "Int64" | "UInt64" | "Int32" | "Float64" => "a number",
        kind if kind.starts_with("Timestamp") => "a time",
        kind if kind.starts_with("List") => "a list",
        other => other,
    }
}
