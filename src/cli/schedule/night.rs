//! One nightly run: `etl`, then the upload and the report, if they are wanted, then the detectors, whose findings are kept for
//! the morning. Each is a process of its own, so that the log has a line even if one is killed.

use std::process::{Command, Stdio};

use super::super::args::Schedule;
use super::super::settings::{Settings, system_clock};
use super::{absolute, log};
use crate::shown::visible;
use crate::{Error, Result};

/// Longest time to wait for another `etl`.
const WAIT: &str = "5m";
/// Exit code of a step that ended without one.
const KILLED: u8 = 1;

/// Runs all steps, or nothing if it is not due.
pub(super) fn run(settings: &Settings, typed: &Schedule) -> Result<()> {
    let log = log()?;
    if let Some(due) = typed.due {
        let last = due.last(&system_clock());
        if log.entries()?.iter().any(|entry| entry.is_good() && Some(entry.ended_at) >= last) {
            return Ok(());
        }
    }
    let mut said = Vec::new();
    for (name, step) in steps(settings, typed)? {
        match run_step(&name, &step) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => said.push(text),
            Err(error) => {
                let reason = match &error {
                    Error::Job { step, reason, .. } => format!("llrem {step}: {reason}"),
                    error => error.to_string(),
                };
                // The run failed. That the log cannot be written either is not the news.
                let _ = log.add(&system_clock(), error.exit_code(), &reason);
                return Err(error);
            }
        }
    }
    let said = said.join(" ");
    log.add(&system_clock(), 0, &said)?;
    settings.printer.say(&visible(&said));
    Ok(())
}

/// Returns the steps: name and arguments.
fn steps(settings: &Settings, typed: &Schedule) -> Result<Vec<(String, Vec<String>)>> {
    let common = settings.repeated()?;
    let step = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        (words.clone().take(1).collect::<String>(), common.iter().cloned().chain(words).collect::<Vec<_>>())
    };
    let mut steps = vec![step(&["etl", "--wait", WAIT])];
    steps.extend(typed.upload.as_ref().map(|url| step(&["upload", url])));
    if let Some(path) = &typed.report {
        steps.push(step(&["report", "-o", &absolute(path)?.to_string_lossy()]));
    }
    steps.push(step(&["detect", "--quiet"]));
    Ok(steps)
}

/// Runs a step. Returns what it says.
fn run_step(name: &str, arguments: &[String]) -> Result<String> {
    let failed = |code: u8, reason: String| Error::Job { step: name.to_owned(), code, reason };
    let cannot_start = |error: std::io::Error| failed(KILLED, error.to_string());
    let program = std::env::current_exe().map_err(cannot_start)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.spawn().and_then(std::process::Child::wait_with_output).map_err(cannot_start)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(first_paragraph(&said));
    }
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(KILLED);
    let error = said.lines().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned);
    Err(failed(code, error.unwrap_or_else(|| format!("it ended with {}", output.status))))
}

fn first_paragraph(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    lines.take_while(|line| !line.trim().is_empty()).map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_is_the_answer() {
        assert_eq!(first_paragraph("\nRead 99 files\nin 0.9 s.\n\nagent  files\n"), "Read 99 files in 0.9 s.");
        assert_eq!(first_paragraph(""), "");
    }
}
