//! `llrem query`: lists and runs canned queries.

mod asked;
mod empty;
mod list;
mod screen;

use std::path::Path;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::args::Query;
use super::output;
use super::runner::Runner;
use super::schema::SPARK;
use super::settings::{Settings, check_agent};
use super::when::Bound;
use crate::query::canned::{Canned, DESCRIPTIONS, Library};
use crate::query::{Statement, nearest, spark};
use crate::shown::width::{PROSE, wrap};
use crate::{Error, Result};
pub(super) use asked::Asked;
pub(super) use empty::{sentence as why_empty, whose};
pub(super) use list::{detectors, list};
pub(super) use screen::{REMEDY, destination, output, print};

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
    let given = typed_parameters(&typed.params, options)?;
    check_agent(value_of(&given, "agent"))?;
    bind(settings, canned, &given)?;
    let lake = settings.open_lake()?;
    let output = screen::output(destination(settings, typed.limit)?, canned);
    let mut runner = Runner::start(settings, &lake)?;
    check_project(&mut runner, value_of(&given, "project"))?;
    Asked { canned, given: &given }.print(settings, &mut runner, output, &library)
}

/// Checks that a filter names a project of the lake, because a misspelt one would match nothing.
pub(super) fn check_project(runner: &mut Runner<'_>, project: Option<&str>) -> Result<()> {
    let Some(project) = project else { return Ok(()) };
    let sql = "select distinct cast(project as text) as project from sessions where project is not null order by 1";
    let rows = runner.rows(&Statement { sql: sql.to_owned(), parameters: Vec::new() })?;
    let known = cast(rows.column(0), &DataType::Utf8)?;
    let known: Vec<&str> = known.as_string::<i32>().iter().flatten().collect();
    if !known.contains(&project) {
        let hint = nearest::question(&nearest::several(project, known), "`llrem query cost_by_project` lists them");
        return Err(Error::Unknown { what: format!("no project is called `{project}`"), hint });
    }
    Ok(())
}

/// Prints the query's text: unchanged for llrem and DuckDB, or in the dialect of Spark.
fn show(settings: &Settings, canned: &Canned) -> Result<()> {
    if settings.format_as_file.as_deref() == Some(Path::new(SPARK)) {
        return output::raw(&settings.output, spark::text(&canned.sql)?.as_bytes());
    }
    settings.refuse_format_as_file()?;
    output::raw(&settings.output, canned.sql.as_bytes())
}

/// Returns the query with its values. Times are parsed here.
pub(super) fn bind(settings: &Settings, canned: &Canned, given: &[(String, String)]) -> Result<Statement> {
    settings.clock.period(value_of(given, "since"), value_of(given, "until"))?;
    // A day at the end of a range is included.
    let moments = |parameter: &str, text: &str| {
        let bound = if parameter == "until" { Bound::End } else { Bound::Start };
        settings.clock.moment(text, bound, &format!("--param {parameter}"))
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

/// Returns the value that was given for a parameter: the last one counts.
pub(super) fn value_of<'g>(given: &'g [(String, String)], name: &str) -> Option<&'g str> {
    given.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

/// Prints a query's description, note, parameters and columns.
pub(super) fn explain(settings: &Settings, canned: &Canned) -> Result<()> {
    let text = canned.explanation();
    let text = match output::look_of_stdout(settings.printer).width {
        Some(columns) => wrapped(&text, columns.min(PROSE)),
        None => text,
    };
    output::raw(&settings.output, text.as_bytes())
}

/// Wraps an explanation. Indented lines have a name before their text.
fn wrapped(explanation: &str, columns: usize) -> String {
    let hang = |line: &str| if line.starts_with(' ') { DESCRIPTIONS } else { 0 };
    explanation.lines().map(|line| wrap(line, columns, hang(line)) + "\n").collect()
}
