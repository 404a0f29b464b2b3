//! Refuses statements before they run.

use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use crate::Error;

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
