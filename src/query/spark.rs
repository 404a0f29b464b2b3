//! Statements for Spark, and for Sail, which speaks its protocol: views over a lake's files, and queries in their
//! dialect.

use std::fmt::Write;
use std::path::Path;

use datafusion::sql::sqlparser::tokenizer::Token;

use super::duckdb::has_files;
use super::{Scope, parameters};
use crate::lake::AnyLake;
use crate::tables::{ColumnDef, LAKE_TABLES, PARTITION_COLUMNS, TableDef};
use crate::{Error, Result};

/// Translates a query. Parameters keep their names, as `:name`. In a literal, `\` and `''` are written `\\` and `\'`;
/// `regexp_replace` always replaces all, and takes no `'g'`; `array_length` is `size`.
///
/// # Errors
/// Fails with [`Error::Query`] if the text is no SQL.
pub fn text(sql: &str) -> Result<String> {
    let tokens = parameters::tokens(sql)?;
    let mut text = String::new();
    let mut calls: Vec<&str> = Vec::new();
    let mut word = "";
    let mut is_flag = false;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => calls.push(word),
            Token::RParen => {
                calls.pop();
                is_flag = false;
            }
            Token::Comma if calls.last().is_some_and(|name| name.eq_ignore_ascii_case("regexp_replace")) => {
                is_flag = tokens.get(place + 1..).is_some_and(ends_with_flag);
            }
            _ => {}
        }
        word = if let Token::Word(word) = token { &word.value } else { "" };
        if is_flag {
            continue;
        }
        let _ = match token {
            Token::Placeholder(name) => write!(text, ":{}", name.trim_start_matches('$')),
            Token::SingleQuotedString(inner) => write!(text, "'{}'", inner.replace('\\', r"\\").replace("''", r"\'")),
            Token::Word(word)
                if word.value.eq_ignore_ascii_case("array_length") && tokens.get(place + 1) == Some(&Token::LParen) =>
            {
                write!(text, "size")
            }
            token => write!(text, "{token}"),
        };
    }
    Ok(text)
}

/// True if only the literal `'g'` is left of a call.
fn ends_with_flag(rest: &[Token]) -> bool {
    let mut rest = rest.iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    let flag = rest.next().is_some_and(|token| matches!(token, Token::SingleQuotedString(flag) if flag == "g"));
    flag && rest.next() == Some(&Token::RParen)
}

/// Returns statements that create views of the lake's own tables, or of the named one. Each ends with `;` and a new
/// line. Tables that are computed from a lake's state stay on its machine.
///
/// # Errors
/// Fails with [`Error::Usage`] if Spark cannot read files from a folder of that name, and for tables without a view.
pub fn script(scope: Scope<'_>, only: Option<&str>) -> Result<String> {
    if let Some(unknown) = only.filter(|only| LAKE_TABLES.iter().all(|table| table.name != *only)) {
        let known = LAKE_TABLES.map(|table| table.name).join(", ");
        return Err(Error::Usage(format!("Spark gets no table `{unknown}`, but {known}")));
    }
    let zone = scope.zone.name();
    let mut script = format!(
        "-- A lake of llrem for Spark and Sail: run the statements, one by one, in a session with\n\
         -- spark.conf.set('spark.sql.session.timeZone', '{zone}')\n\
         -- spark.conf.set('spark.sql.sources.partitionColumnTypeInference.enabled', 'false')\n"
    );
    for table in LAKE_TABLES.iter().filter(|table| only.is_none_or(|only| only == table.name)) {
        let _ = writeln!(script, "{};", view(scope.lake, table)?);
    }
    Ok(script)
}

fn view(lake: &AnyLake, table: &TableDef) -> Result<String> {
    let columns: Vec<_> = table.columns.iter().map(|column| (column.name, type_name(column))).collect();
    let partitions = PARTITION_COLUMNS.map(|(name, _)| (name, "string"));
    let head = format!("create or replace temporary view {} as\n", table.name);
    match address(lake, table)? {
        Some(address) => {
            // Timestamps have to be cast, or Sail takes their days and hours from UTC.
            let columns = columns.iter().map(|(name, kind)| match *kind {
                "timestamp" => format!("cast({name} as timestamp) as {name}"),
                _ => (*name).to_owned(),
            });
            let partitions = partitions.map(|(name, kind)| format!("cast({name} as {kind}) as {name}"));
            let columns = columns.chain(partitions).collect::<Vec<_>>().join(", ");
            Ok(format!("{head}select {columns}\nfrom parquet.`{address}`"))
        }
        None => Ok(format!("{head}{}", no_row(columns.into_iter().chain(partitions)))),
    }
}

/// Returns the pattern of a table's files, or `None` if there are none, which would be an error.
fn address(lake: &AnyLake, table: &TableDef) -> Result<Option<String>> {
    match lake {
        AnyLake::Local(lake) => {
            let folder = lake.table_dir(table);
            Ok(has_files(&folder).then(|| folder_address(&folder)).transpose()?)
        }
        AnyLake::Remote(lake) => Ok(Some(lake.table_url(table))),
    }
}

fn folder_address(folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder).map_err(Error::io("find", folder))?;
    let readable = folder.to_str().filter(|path| !path.contains(['*', '?', '[', ']', '{', '}', '`', '\\', '%', ',']));
    let wrong = || {
        let place = folder.display();
        Error::Usage(format!("Spark cannot read `{place}`: its name contains a wildcard; create a link to the lake"))
    };
    readable.map(str::to_owned).ok_or_else(wrong)
}

fn no_row<'c>(columns: impl Iterator<Item = (&'c str, &'c str)>) -> String {
    let typed = columns.map(|(name, kind)| format!("cast(null as {kind}) as {name}"));
    format!("select {} where false", typed.collect::<Vec<_>>().join(", "))
}

fn type_name(column: &ColumnDef) -> &'static str {
    match column.type_name() {
        "text" => "string",
        "text[]" => "array<string>",
        "timestamptz" => "timestamp",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_sparks_dialect() {
        for (sql, expected) in [
            ("select $a, '$a' -- $a", "select :a, '$a' -- $a"),
            (r"select 'it''s', '\d\n', ''", r"select 'it\'s', '\\d\\n', ''"),
            (
                "regexp_replace(regexp_replace(x, 'a', 'g') , 'b', ''\n , 'g' ), ('f', 'g')",
                "regexp_replace(regexp_replace(x, 'a') , 'b', ''\n ), ('f', 'g')",
            ),
            ("array_length(x) > array_length + 1", "size(x) > array_length + 1"),
        ] {
            assert_eq!(text(sql).unwrap(), expected, "{sql}");
        }
        assert!(text("select 'a").is_err());
    }

    #[test]
    fn folders_that_are_patterns_are_refused() {
        assert_eq!(folder_address(Path::new("/a b/it's/usage")).unwrap(), "/a b/it's/usage");
        insta::assert_snapshot!(
            folder_address(Path::new("/a[b]/usage")).unwrap_err(),
            @"Spark cannot read `/a[b]/usage`: its name contains a wildcard; create a link to the lake"
        );
    }
}
