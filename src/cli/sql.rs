//! `llrem sql`: any query, from the command line, a file or a pipe.

use std::io::{IsTerminal, Read};
use std::path::Path;

use super::args::Sql;
use super::interrupt;
use super::output::{Format, Output};
use super::settings::Settings;
use crate::query::canned::Library;
use crate::query::findings::{self, Detectors};
use crate::query::{self, Receiver, Scope, Statement};
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Sql) -> Result<()> {
    let sql = text(settings, typed)?;
    print(settings, &Statement { sql, parameters: Vec::new() })
}

fn text(settings: &Settings, typed: &Sql) -> Result<String> {
    let file = typed.file.as_deref().or(settings.format_as_file.as_deref());
    let text = match (typed.query.as_deref(), file) {
        (Some(_), Some(file)) => return Err(two_queries(file)),
        (Some(query), None) if query != "-" => query.to_owned(),
        (None, Some(file)) => read_file(file)?,
        _ if std::io::stdin().is_terminal() => String::new(),
        _ => std::io::read_to_string(std::io::stdin()).map_err(Error::io("read", Path::new("stdin")))?,
    };
    if text.trim().is_empty() {
        return Err(Error::Usage(
            "no query; give one: llrem sql \"select count(*) from sessions\", or --file FILE, or a pipe".to_owned(),
        ));
    }
    Ok(text)
}

fn two_queries(file: &Path) -> Error {
    Error::Usage(format!(
        "`{}` is no format, and a query is given already; formats: {}",
        file.display(),
        Format::ALL.map(Format::name).join(", ")
    ))
}

fn read_file(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    read.map(|_| text).map_err(Error::io("read", path))
}

/// Runs a query over the lake and prints its rows as they come.
pub(super) fn print(settings: &Settings, statement: &Statement) -> Result<()> {
    let mut output = Output::new(&settings.output, Format::Csv)?;
    let detectors = || findings::with_defaults(&Library::load(settings.query_folders())?);
    ask(settings, statement, &detectors, &mut output)?;
    output.finish()
}

/// Runs a query over the lake; the table `findings` is what these detectors find.
pub(super) fn ask(
    settings: &Settings,
    statement: &Statement,
    detectors: Detectors<'_>,
    receiver: &mut dyn Receiver,
) -> Result<()> {
    let lake = settings.open_lake()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(query::cores())
        .build()
        .map_err(|error| Error::Query(format!("cannot start threads: {error}")))?;
    let scope = Scope { lake: &lake, zone: settings.clock.zone, prices: settings.prices(), detectors };
    let work = query::run(scope, statement, receiver);
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            () = interrupt::asked() => Err(Error::Interrupted),
            outcome = work => outcome,
        }
    });
    runtime.shutdown_background();
    outcome
}
