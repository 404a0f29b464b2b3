//! `llrem query`: lists and runs canned queries.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::args::Query;
use super::output::{self, Format, Output, OutputSettings, Printer};
use super::runner::Runner;
use super::schema::SPARK;
use super::settings::{Settings, check_agent};
use super::sql;
use super::when::Bound;
use crate::query::canned::{Canned, Library, Parameter};
use crate::query::{Statement, nearest, spark};
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Query) -> Result<()> {
    let library = Library::load(settings.query_folders())?;
    let Some(name) = &typed.name else { return list(&settings.output, settings.printer, &library) };
    let canned = library.find(name)?;
    if typed.show {
        return show(settings, canned);
    }
    if typed.explain {
        return explain(settings, canned);
    }
    let options =
        [("since", &typed.since), ("until", &typed.until), ("project", &typed.project), ("agent", &typed.agent)];
    check_agent(typed.agent.as_deref())?;
    let statement = bind(settings, canned, &typed_parameters(&typed.params, options)?)?;
    let lake = settings.open_lake()?;
    let output = sql::output(settings, typed.limit)?;
    let mut runner = Runner::start(settings, &lake)?;
    sql::print(&mut runner, &statement, output)?;
    settings.printer.note(&canned.note);
    warn_of_project(settings, &mut runner, typed.project.as_deref())
}

/// Warns if no session belongs to a project: the result may then be empty.
pub(super) fn warn_of_project(settings: &Settings, runner: &mut Runner<'_>, project: Option<&str>) -> Result<()> {
    let Some(project) = project.filter(|_| !settings.printer.is_quiet()) else { return Ok(()) };
    let sql = "select distinct cast(project as text) as project from sessions where project is not null order by 1";
    let rows = runner.rows(&Statement { sql: sql.to_owned(), parameters: Vec::new() })?;
    let known = cast(rows.column(0), &DataType::Utf8)?;
    let known: Vec<&str> = known.as_string::<i32>().iter().flatten().collect();
    if !known.contains(&project) {
        let guess = nearest::suggestion(project, known);
        settings.printer.warn(&format!("no session belongs to the project `{project}`{guess}"));
    }
    Ok(())
}

/// Returns the query's text: unchanged for llrem and DuckDB, or in the dialect of Spark.
fn show(settings: &Settings, canned: &Canned) -> Result<()> {
    if settings.format_as_file.as_deref() == Some(Path::new(SPARK)) {
        return output::raw(&settings.output, spark::text(&canned.sql)?.as_bytes());
    }
    settings.refuse_format_as_file()?;
    output::raw(&settings.output, canned.sql.as_bytes())
}

/// Returns the query with its values. Times are parsed here.
pub(super) fn bind(settings: &Settings, canned: &Canned, given: &[(String, String)]) -> Result<Statement> {
    // A day at the end of a range is included.
    let moments = |parameter: &str, text: &str| {
        let bound = if parameter == "until" { Bound::End } else { Bound::Start };
        settings.clock.moment(text, bound)
    };
    canned.bind(given, settings.clock.zone, &moments)
}

/// Reads `--param NAME=VALUE`, and the options that set parameters of their names.
pub(super) fn typed_parameters(
    params: &[String],
    options: [(&str, &Option<String>); 4],
) -> Result<Vec<(String, String)>> {
    let named = params.iter().map(|text| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("`--param {text}` has no value; write --param {text}=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    let options = options.into_iter().filter_map(|(name, value)| Some(Ok((name.to_owned(), value.clone()?))));
    named.chain(options).collect()
}

/// Prints the list of queries.
pub(super) fn list(output: &OutputSettings, printer: Printer, library: &Library) -> Result<()> {
    for (path, reason) in &library.problems {
        printer.warn(&format!("`{}` is no query: {reason}", path.display()));
    }
    let column = |text: fn(&Canned) -> String| -> ArrayRef {
        Arc::new(library.reports().chain(library.detectors()).map(|canned| Some(text(canned))).collect::<StringArray>())
    };
    let rows = RecordBatch::try_from_iter([
        ("name", column(|canned| canned.name.clone())),
        ("title", column(|canned| canned.title.clone())),
        ("kind", column(kind)),
        ("parameters", column(|canned| parameters(&canned.parameters))),
    ])?;
    Output::new(output, Format::Csv)?.wrapping().print(&rows)
}

fn kind(canned: &Canned) -> String {
    format!("{}{}", canned.purpose.name(), if canned.is_off { " (off)" } else { "" })
}

fn parameters(parameters: &[Parameter]) -> String {
    let shown = parameters.iter().map(|parameter| match parameter.default.as_deref() {
        None => format!("{} (needed)", parameter.name),
        Some("null" | "") => parameter.name.clone(),
        Some(default) => format!("{}={default}", parameter.name),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Prints a query's description, note, parameters and columns.
pub(super) fn explain(settings: &Settings, canned: &Canned) -> Result<()> {
    output::raw(&settings.output, canned.explanation().as_bytes())
}
