//! One line in the user's crontab. cron does not make up for missed times, so the line starts the job every hour, and the
//! job ends at once unless it is due.

use super::super::args::System;
use super::super::time_of_day::TimeOfDay;
use super::installed::Installed;
use super::job::Job;
use super::program::{ask, tell};
use crate::{Error, Result};

/// End of the line. The shell that runs it takes it for a comment.
const MARK: &str = " # llrem schedule";
const DUE: &str = " '--due' '";

/// True if there is a crontab to write to.
pub(super) fn is_here() -> bool {
    table().is_ok_and(|table| table.is_some())
}

pub(super) fn install(job: &Job) -> Result<()> {
    let others = others(&wanted()?);
    tell(&["crontab", "-"], Some(&(others + &line(job))))
}

pub(super) fn remove() -> Result<()> {
    tell(&["crontab", "-"], Some(&others(&wanted()?)))
}

pub(super) fn installed() -> Result<Option<Installed>> {
    let Some(table) = table()? else { return Ok(None) };
    let own = table.lines().find(|line| line.ends_with(MARK)).map(str::to_owned);
    Ok(own.map(|line| Installed { system: System::Cron, at: at(&line), command: command(&line), is_active: true }))
}

/// Returns the line of the job.
pub(super) fn line(job: &Job) -> String {
    let variables = job.environment.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
    let words = job.words_if_due().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    format!("{} * * * * {}{words}{MARK}\n", job.at.minute(), variables.collect::<String>())
}

/// Quotes a word for the shell. cron itself ends the command at a `%`.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''")).replace('%', "\\%")
}

fn at(line: &str) -> Option<TimeOfDay> {
    let (_, rest) = line.split_once(DUE)?;
    rest.split_once('\'')?.0.parse().ok()
}

/// Returns the command without its times and its mark.
fn command(line: &str) -> String {
    let command = line.strip_suffix(MARK).unwrap_or(line);
    command.splitn(6, ' ').nth(5).unwrap_or(command).to_owned()
}

/// Returns the lines of others.
fn others(table: &str) -> String {
    table.lines().filter(|line| !line.ends_with(MARK)).flat_map(|line| [line, "\n"]).collect()
}

fn wanted() -> Result<String> {
    let missing = || Error::Command { command: "crontab -l".to_owned(), reason: "there is no such program".to_owned() };
    table()?.ok_or_else(missing)
}

/// Returns the user's crontab, or `None` if there is no cron. A table that cannot be read must not be taken for an empty
/// one, which would be written in its place.
fn table() -> Result<Option<String>> {
    let Some(answer) = ask(&["crontab", "-l"], None)? else { return Ok(None) };
    let is_empty = ["no crontab", "No such file"].iter().any(|text| answer.stderr.contains(text));
    let failed = |reason: &str| Error::Command { command: "crontab -l".to_owned(), reason: reason.to_owned() };
    match (answer.is_good, is_empty) {
        // Lines of others have to stay as they are.
        (true, _) => String::from_utf8(answer.stdout).map(Some).map_err(|_| failed("the crontab is not UTF-8")),
        (false, true) => Ok(Some(String::new())),
        (false, false) => Err(failed(answer.stderr.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::example;
    use super::*;

    #[test]
    fn a_line_starts_every_hour_and_says_when_it_is_due() {
        insta::assert_snapshot!(line(&example()), @r#"5 * * * * CODEX_HOME='/home/ada/a <b> & '\''c'\'' $d \%h' '/opt/my tools/llrem' '--quiet' '--lake' '/home/ada/50\% "lake"' 'schedule' 'run' '--upload' 's3://b/$x?a=1&b=2' '--due' '03:05' # llrem schedule"#);
        let line = line(&example());
        assert_eq!(at(line.trim_end()), Some(example().at));
        assert!(command(line.trim_end()).starts_with("CODEX_HOME="), "{}", command(line.trim_end()));
    }

    #[test]
    fn the_lines_of_others_stay() {
        let table = format!("# mine\n0 4 * * 1 backup\n{}@daily other\n", line(&example()));
        assert_eq!(others(&table), "# mine\n0 4 * * 1 backup\n@daily other\n");
    }
}
