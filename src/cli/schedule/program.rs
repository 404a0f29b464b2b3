//! Runs the programs of the systems' schedulers.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::{Error, Result};

/// The result of a program.
pub(super) struct Answer {
    pub(super) is_good: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Answer {
    /// Returns what it printed, as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs a program of the system. Returns `None` if it is not there.
pub(super) fn ask(words: &[&str], input: Option<&str>) -> Result<Option<Answer>> {
    let [program, arguments @ ..] = words else { return Ok(None) };
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut command = Command::new(program);
    // Its messages are compared.
    command.args(arguments).env("LC_ALL", "C").stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| Error::Command { command: words.join(" "), reason: error.to_string() };
    let mut child = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        child => child.map_err(failed)?,
    };
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Some(Answer { is_good: output.status.success(), stdout: output.stdout, stderr }))
}

/// Runs a program of the system that has to succeed.
pub(super) fn tell(words: &[&str], input: Option<&str>) -> Result<()> {
    let failed = |reason: String| Err(Error::Command { command: words.join(" "), reason });
    match ask(words, input)? {
        None => failed("there is no such program".to_owned()),
        Some(answer) if answer.is_good => Ok(()),
        Some(answer) => {
            let said = if answer.stderr.trim().is_empty() { answer.text() } else { answer.stderr };
            failed(said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim().to_owned())
        }
    }
}
