//! `llrem sql`: runs any query from the command line, a file or a pipe.

use std::io::{IsTerminal, Read};
use std::path::Path;

use super::args::Sql;
use super::runner::Runner;
use super::settings::Settings;
use super::{query, shell};
use crate::query::Statement;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Sql) -> Result<()> {
    match text(typed)? {
        Some((sql, file)) => {
            let lake = settings.open_lake()?;
            let output = query::destination(settings, typed.limit)?;
            let statement = Statement { sql, parameters: Vec::new() };
            query::print(&mut Runner::start(settings, &lake)?, &statement, output).map_err(|error| in_file(file, error))
        }
        None => shell::run(settings, typed.limit),
    }
}

/// Returns the query and the file that it is from, or `None` for the shell.
fn text(typed: &Sql) -> Result<Option<(String, Option<&Path>)>> {
    let file = typed.file.as_deref();
    let text = match (typed.query.as_deref(), file) {
        (_, Some(file)) => read_file(file)?,
        (Some(query), None) if query != "-" => query.to_owned(),
        (None, None) if std::io::stdin().is_terminal() => return Ok(None),
        _ => std::io::read_to_string(std::io::stdin()).map_err(Error::io("read", Path::new("stdin")))?,
    };
    // A byte-order mark, which editors add, is no part of the text.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Error::Usage(
            "no query; give one: llrem sql \"select count(*) from sessions\", or --file FILE, or a pipe".to_owned(),
        ));
    }
    Ok(Some((text, file)))
}

/// Adds the file name to an error of a query from a file.
fn in_file(file: Option<&Path>, error: Error) -> Error {
    match (file, error) {
        (Some(file), Error::Query(text)) => Error::Query(format!("`{}`: {text}", file.display())),
        (Some(file), Error::Unknown { what, hint }) => {
            Error::Unknown { what: format!("`{}`: {what}", file.display()), hint }
        }
        (_, error) => error,
    }
}

fn read_file(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    read.map(|_| text).map_err(Error::io("read", path))
}
