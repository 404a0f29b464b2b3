//! The command line: parsing, settings, and one file for each command.

mod agents;
pub mod args;
mod completions;
mod config;
mod demo;
mod detect;
mod doctor;
mod etl;
mod freshness;
mod help;
mod holdings;
mod man;
pub mod output;
mod overview;
mod query;
mod report;
mod runner;
mod schedule;
mod schema;
mod search;
mod session;
pub mod settings;
mod shell;
mod show;
mod sources;
mod sql;
mod status;
mod time_of_day;
mod upload;
mod verify;
mod versions;
pub mod when;

use std::process::ExitCode;

use clap::CommandFactory;

use crate::interrupt;
use crate::{Error, Result};
use args::{Cli, Command};
use output::Style;
use settings::Settings;

/// Runs the program: parses, runs, and maps the error to an exit code.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let style = Style::of(&arguments);
    let typed = match Cli::read(&arguments, style.clap()) {
        Ok(typed) => typed,
        Err(error) => {
            output::help(style, &error);
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    interrupt::listen(move || {
        output::report(style, &Error::Interrupted, None);
        leave(Error::Interrupted.exit_code());
    });
    match run(typed, style) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::report(style, &error, error.hint().as_deref());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Ends the process at once, whatever its threads are doing.
fn leave(code: u8) {
    #[cfg(unix)]
    signal_hook::low_level::exit(i32::from(code));
    #[cfg(not(unix))]
    std::process::exit(i32::from(code));
}

/// Returns the definition of the command line, for help, completions and the manual page.
pub fn command() -> clap::Command {
    Cli::command()
}

fn run(typed: Cli, style: Style) -> Result<()> {
    if matches!(typed.command, Some(Command::Report(_))) && !typed.global.format.is_empty() {
        let refused = "a report is HTML; `llrem query` and `llrem detect` give its figures in other formats";
        return Err(Error::Usage(refused.to_owned()));
    }
    let settings = Settings::resolve(typed.global, typed.command.as_ref().and_then(Command::scheduler), style)?;
    // These commands accept other values of `-f`, too.
    let takes_more = match &typed.command {
        Some(Command::Schema(_)) => true,
        Some(Command::Query(typed)) => typed.show,
        _ => false,
    };
    if !takes_more {
        settings.refuse_format_as_file()?;
    }
    let Some(command) = typed.command else { return overview::run(&settings) };
    match command {
        Command::Etl(typed) => etl::run(&settings, typed),
        Command::Sql(typed) => sql::run(&settings, &typed),
        Command::Query(typed) => query::run(&settings, &typed),
        Command::Detect(typed) => detect::run(&settings, &typed),
        Command::Show(typed) => show::run(&settings, &typed),
        Command::Search(typed) => search::run(&settings, &typed),
        Command::Schema(typed) => schema::run(&settings, &typed),
        Command::Sources(typed) => sources::run(&settings, &typed),
        Command::Agents(typed) => agents::run(&settings, typed),
        Command::Upload(typed) => upload::run(&settings, &typed),
        Command::Report(typed) => report::run(&settings, &typed),
        Command::Verify(typed) => verify::run(&settings, &typed),
        Command::Status(typed) => status::run(&settings, &typed),
        Command::Doctor => doctor::run(&settings),
        Command::Schedule(typed) => schedule::run(&settings, &typed),
        Command::Demo => demo::run(&settings),
        Command::Completions(typed) => completions::run(&settings, &typed),
        Command::Man => man::run(&settings),
    }
}
