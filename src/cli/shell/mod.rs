//! `llrem sql` on a terminal: runs statements and commands one after the other.

mod commands;
mod completion;
mod editor;
mod ending;
mod statements;
mod tokens;

use std::path::PathBuf;
use std::time::Instant;

use super::output::{Format, Limit, Output, OutputSettings, RowLimit};
use super::query::{self, Asked};
use super::runner::Runner;
use super::schema;
use super::settings::Settings;
use crate::interrupt;
use crate::query::Statement;
use crate::query::canned::Library;
use crate::tables::{LAKE_TABLES, STATE_TABLES};
use crate::{Error, Result};
use commands::{COMMANDS, Command};
use completion::Names;
use editor::{Line, Lines};
use statements::{Step, split};
use tokens::End;

/// Hint below a table that does not show all rows.
const REMEDY: &str = "`\\limit off` shows all, `\\o FILE` writes all";

/// Reads and runs input until the shell ends.
pub(super) fn run(settings: &Settings, limit: Option<Limit>) -> Result<()> {
    if settings.output.path.is_some() {
        return Err(Error::Usage("-o needs a query; in the shell, `\\o FILE` writes the next result".to_owned()));
    }
    let lake = settings.open_lake()?;
    let runner = Runner::start(settings, &lake)?;
    let library = Library::load(settings.query_folders())?;
    let names = Names::new(runner.functions(), &library.queries);
    ending::listen();
    interrupt::go_on();
    let mut lines = Lines::open(names, settings.history(), settings.printer)?;
    settings.printer.say(&format!("llrem {}, lake {lake}; `\\?` lists commands", env!("CARGO_PKG_VERSION")));
    let output = settings.output.clone();
    let limit = settings.limit(limit)?.most;
    Shell { settings, runner, output, limit, timing: false, file: None }.converse(&mut lines)
}

struct Shell<'a> {
    settings: &'a Settings,
    runner: Runner<'a>,
    output: OutputSettings,
    limit: Limit,
    timing: bool,
    /// Destination of the next result.
    file: Option<PathBuf>,
}

/// Decides whether the shell continues or ends.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

impl Shell<'_> {
    fn converse(mut self, lines: &mut Lines) -> Result<()> {
        // For a text of several lines: the part that has not run, and the whole input.
        let (mut rest, mut typed) = (String::new(), String::new());
        let mut end = End::Whole;
        while !ending::asked() {
            match lines.read(prompt(&rest, end), &rest)? {
                Line::End => return Ok(()),
                Line::Cancelled => (rest, typed) = (String::new(), String::new()),
                Line::Text(line) => {
                    typed.push_str(&line);
                    rest.push_str(&line);
                    let found = split(&rest);
                    (rest, end) = (found.rest, found.end);
                    if rest.is_empty() {
                        lines.remember(typed.trim_end(), self.settings.printer);
                        typed.clear();
                    } else {
                        typed.push('\n');
                        rest.push('\n');
                    }
                    if self.run_all(&found.steps)? == Next::End {
                        return Ok(());
                    }
                }
            }
        }
        Err(Error::Interrupted)
    }

    /// Runs steps one after the other, also after one that fails. An interrupted one is the last.
    fn run_all(&mut self, steps: &[Step]) -> Result<Next> {
        for step in steps {
            interrupt::forget();
            match self.step(step) {
                Ok(Next::GoOn) => {}
                Ok(Next::End) => return Ok(Next::End),
                Err(error) if error.is_broken_pipe() => return Err(error),
                Err(Error::Interrupted) if ending::asked() => return Ok(Next::GoOn),
                Err(Error::Interrupted) => {
                    self.settings.printer.answer("interrupted");
                    return Ok(Next::GoOn);
                }
                Err(error) => self.settings.printer.report(&error, remedy(&error).as_deref()),
            }
        }
        Ok(Next::GoOn)
    }

    fn step(&mut self, step: &Step) -> Result<Next> {
        match step {
            Step::Statement(sql) => self.query(&Statement { sql: sql.clone(), parameters: Vec::new() })?,
            Step::Command(line) => return self.command(Command::parse(line)?),
        }
        Ok(Next::GoOn)
    }

    fn query(&mut self, statement: &Statement) -> Result<()> {
        let began = Instant::now();
        let output = self.output()?;
        query::print(&mut self.runner, statement, output)?;
        self.say_after(began);
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        let limit = RowLimit { most: self.limit, is_typed: false };
        Ok(Output::new(&self.target(), Format::Csv)?.limited(limit, REMEDY))
    }

    fn say_after(&mut self, began: Instant) {
        if let Some(file) = self.file.take() {
            self.settings.printer.say(&format!("written to `{}`", file.display()));
        }
        if self.timing {
            self.settings.printer.answer(&format!("time: {:.3} s", began.elapsed().as_secs_f64()));
        }
    }

    /// A file's suffix overrides the format of shown results.
    fn target(&self) -> OutputSettings {
        let suffix = self.file.as_deref().and_then(|file| Format::of_suffix(file).ok());
        OutputSettings { format: suffix.or(self.output.format), path: self.file.clone(), ..self.output }
    }

    fn command(&mut self, command: Command) -> Result<Next> {
        let printer = self.settings.printer;
        match command {
            Command::Describe(table) => {
                let rows = table.map_or_else(schema::tables, |table| schema::rows(Some(&table)))?;
                schema::print(Output::new(&self.output, Format::Table)?, &rows)?;
            }
            Command::Queries => query::list(&self.output, printer, &self.library()?)?,
            Command::Run(name, parameters) => {
                let library = self.library()?;
                let canned = library.find(&name)?;
                let (began, output) = (Instant::now(), query::output(self.output()?, canned));
                Asked { canned, given: &parameters }.print(self.settings, &mut self.runner, output, &library)?;
                self.say_after(began);
            }
            Command::Format(Some(format)) => self.output.format = Some(format),
            Command::Format(None) => printer.answer(self.output.format.unwrap_or(Format::Table).name()),
            Command::Output(file) => self.file = file,
            Command::Limit(Some(limit)) => self.limit = limit,
            Command::Limit(None) => printer.answer(&self.limit.to_string()),
            Command::Timing(timing) => {
                self.timing = timing.unwrap_or(!self.timing);
                printer.answer(if self.timing { "timing is on" } else { "timing is off" });
            }
            Command::Help => help().lines().for_each(|line| printer.answer(line)),
            Command::Quit => return Ok(Next::End),
        }
        Ok(Next::GoOn)
    }

    /// Reads the queries each time, because the user may edit them in another window.
    fn library(&self) -> Result<Library> {
        Library::load(self.settings.query_folders())
    }
}

/// The prompt, which shows how the text is unfinished.
fn prompt(rest: &str, end: End) -> &'static str {
    match end {
        _ if rest.is_empty() => "llrem> ",
        End::Within('\'') => "    '> ",
        End::Within('"') => "    \"> ",
        End::Within('`') => "    `> ",
        End::Within('$') => "    $> ",
        End::Within(_) => "    *> ",
        End::Whole | End::Wrong => "    -> ",
    }
}

/// Returns the hint of an error, with the shell's own commands.
fn remedy(error: &Error) -> Option<String> {
    error
        .hint()
        .map(|hint| hint.replace("`llrem schema` lists tables and columns", "`\\d` lists tables, `\\d TABLE` columns"))
}

fn help() -> String {
    let commands = COMMANDS.iter().map(|declared| {
        let usage = format!("{} {}", declared.names.join(", "), declared.arguments);
        format!("  {:34} {}\n", usage.trim_end(), declared.meaning)
    });
    let tables = LAKE_TABLES.into_iter().chain(STATE_TABLES).map(|table| table.name).collect::<Vec<_>>().join(", ");
    format!(
        "SQL ends with `;` and may span lines. Tab completes, Ctrl-R searches the history, Ctrl-C cancels.\n\
         Tables: {tables}\n{}",
        commands.collect::<String>()
    )
}
