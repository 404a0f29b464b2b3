//! Puts the values of parameters into a statement, for engines whose views take none.

use std::fmt::Write;

use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::Statement;
use crate::{Error, Result};

/// Splits a text into words and signs. Joined, they are the text again.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).with_unescape(false).tokenize();
    tokens.map_err(|error| Error::Query(error.to_string()))
}

/// Returns the text, with values written by `literal`.
pub(super) fn in_place(statement: &Statement, literal: fn(&ScalarValue) -> Result<String, String>) -> Result<String> {
    let wrong = |error: String| Error::Query(format!("a detector cannot be a view: {error}"));
    let mut text = String::new();
    for token in tokens(&statement.sql)? {
        let value = match &token {
            Token::Placeholder(name) => {
                statement.parameters.iter().find(|(known, _)| Some(known.as_str()) == name.strip_prefix('$'))
            }
            _ => None,
        };
        match value {
            Some((_, value)) => text.push_str(&literal(value).map_err(wrong)?),
            None => {
                let _ = write!(text, "{token}");
            }
        }
    }
    Ok(text)
}
