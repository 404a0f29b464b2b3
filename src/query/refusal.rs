//! Refuses statements before they run, and words the failures of queries.

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::nearest;
use crate::Error;
use crate::tables::{LAKE_TABLES, STATE_TABLES};

/// Refuses every statement that writes, changes settings or reads files outside of the lake.
pub(super) fn check(statement: &Statement) -> Result<(), Error> {
    let harmless = match statement {
        Statement::Statement(statement) => is_reading(statement),
        Statement::Explain(explain) => return check(&explain.statement),
        _ => false,
    };
    if harmless {
        return Ok(());
    }
    let text = statement.to_string();
    let verb: Vec<&str> = text.split_whitespace().take_while(|word| is_keyword(word)).take(3).collect();
    Err(Error::Query(format!("`{}` is refused: queries only read the lake", verb.join(" "))))
}

fn is_reading(statement: &ast::Statement) -> bool {
    use ast::Statement as S;
    match statement {
        S::Query(_)
        | S::ExplainTable { .. }
        | S::ShowTables { .. }
        | S::ShowColumns { .. }
        | S::ShowVariable { .. }
        | S::ShowFunctions { .. } => true,
        S::Explain { statement, .. } => is_reading(statement),
        _ => false,
    }
}

fn is_keyword(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// True if a file changed between listing and reading it.
pub(super) fn is_replaced_file(error: &DataFusionError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(store) = error.downcast_ref::<object_store::Error>() {
            use object_store::Error as E;
            return matches!(store, E::Precondition { .. } | E::NotFound { .. } | E::NotModified { .. });
        }
        cause = error.source();
    }
    let text = error.to_string();
    text.contains("Parquet error") || text.contains("ParquetError")
}

/// Returns the error for files that changed each time the query started.
pub(super) fn replaced(error: &DataFusionError) -> Error {
    Error::Query(format!(
        "a file of the lake was replaced, or is damaged, while it was read ({}); run the query again, or `llrem verify --read-data`",
        plain(&error.strip_backtrace())
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
    if let DataFusionError::SchemaError(schema, _) = root
        && let SchemaError::FieldNotFound { field, valid_fields } = schema.as_ref()
    {
        let guess = nearest::suggestion(&field.name, valid_fields.iter().map(|known| known.name.as_str()));
        return Error::Query(format!("no column `{}`{guess}", field.flat_name()));
    }
    let text = plain(&root.strip_backtrace());
    Error::Query(unknown_table(&text).unwrap_or(text))
}

/// Removes the engine's prefixes.
fn plain(text: &str) -> String {
    let prefixes = ["Error during planning: ", "SQL error: ", "Execution error: ", "Arrow error: "];
    let text = prefixes.iter().fold(text, |text, prefix| text.strip_prefix(prefix).unwrap_or(text));
    let parser = text.strip_prefix("ParserError(\"").and_then(|rest| rest.strip_suffix("\")"));
    let text = parser.map_or_else(|| text.to_owned(), |rest| rest.replace("\\\"", "\""));
    text.replace("datafusion.public.", "")
}

/// Returns the table that was probably meant, if one was not found.
fn unknown_table(text: &str) -> Option<String> {
    let name = text.strip_prefix("table '")?.strip_suffix("' not found")?;
    let known = LAKE_TABLES.into_iter().chain(STATE_TABLES).map(|table| table.name);
    Some(format!("no table `{name}`{}", nearest::suggestion(name, known)))
}
