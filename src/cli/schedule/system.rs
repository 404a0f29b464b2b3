//! The schedulers of the systems, and how their programs are called.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chrono::NaiveDate;
use clap::ValueEnum;

use super::job::{Job, TimeOfDay};
use super::{cron, launchd, systemd, windows};
use crate::{Error, Result};

/// A scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum System {
    /// Timers of systemd, for this user
    Systemd,
    /// The user's crontab
    Cron,
    /// Agents of launchd, on macOS
    Launchd,
    /// The Task Scheduler of Windows
    Windows,
}

/// A schedule as a system has it.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Installed {
    pub(in crate::cli) system: System,
    /// When it runs; `None` if somebody wrote a time that llrem does not.
    pub(in crate::cli) at: Option<TimeOfDay>,
    /// The command.
    pub(super) command: String,
    /// True if the system is going to run it.
    pub(in crate::cli) is_active: bool,
}

impl System {
    /// Returns the scheduler that this machine has.
    pub(super) fn of_machine() -> Result<Self> {
        if cfg!(windows) {
            return Ok(Self::Windows);
        }
        if cfg!(target_os = "macos") {
            return Ok(Self::Launchd);
        }
        if systemd::is_here() {
            return Ok(Self::Systemd);
        }
        if cron::is_here() {
            return Ok(Self::Cron);
        }
        Err(Error::Unknown {
            what: "neither systemd for users nor cron is here".to_owned(),
            hint: "`llrem schedule print --by cron` prints the command for another scheduler".to_owned(),
        })
    }

    /// Returns its name in a sentence.
    pub(in crate::cli) fn title(self) -> &'static str {
        match self {
            Self::Systemd => "systemd (llrem.timer)",
            Self::Cron => "cron",
            Self::Launchd => "launchd (llrem)",
            Self::Windows => "the Task Scheduler (llrem)",
        }
    }

    /// Returns the files of a schedule, with their places.
    pub(super) fn files(self, job: &Job, today: NaiveDate) -> Result<Vec<(PathBuf, String)>> {
        match self {
            Self::Systemd => systemd::files(job),
            Self::Cron => Ok(vec![(PathBuf::from("crontab"), cron::line(job))]),
            Self::Launchd => Ok(vec![(launchd::path()?, launchd::plist(job))]),
            Self::Windows => Ok(vec![(PathBuf::from("llrem.xml"), windows::task(job, today))]),
        }
    }

    /// Has the system run the job from now on.
    pub(super) fn install(self, job: &Job, today: NaiveDate) -> Result<()> {
        match self {
            Self::Systemd => systemd::install(job),
            Self::Cron => cron::install(job),
            Self::Launchd => launchd::install(job),
            Self::Windows => windows::install(job, today),
        }
    }

    /// Has the system no longer run it.
    pub(super) fn remove(self) -> Result<()> {
        match self {
            Self::Systemd => systemd::remove(),
            Self::Cron => cron::remove(),
            Self::Launchd => launchd::remove(),
            Self::Windows => windows::remove(),
        }
    }

    fn installed(self) -> Result<Option<Installed>> {
        match self {
            Self::Systemd => systemd::installed(),
            Self::Cron => cron::installed(),
            Self::Launchd => launchd::installed(),
            Self::Windows => windows::installed(),
        }
    }

    /// Returns what a person should know about a schedule.
    pub(super) fn notes(self, job: &Job) -> Vec<String> {
        let mut notes = vec![format!("a missed night is made up for {}", self.made_up())];
        if self == Self::Systemd {
            notes.push("it runs while you are logged in; `loginctl enable-linger` has it run at any time".to_owned());
        }
        if self == Self::Windows && !job.environment.is_empty() {
            let names: Vec<&str> = job.environment.iter().map(|(name, _)| name.as_str()).collect();
            notes.push(format!("the task knows {} only if `setx` has set it", names.join(", ")));
        }
        if job.uploads {
            notes.push(
                "the job has no credentials from this shell: keep them where the cloud's own tools look for them"
                    .to_owned(),
            );
        }
        notes
    }

    /// Returns when a missed night is made up for.
    pub(super) fn made_up(self) -> &'static str {
        match self {
            Self::Systemd => "at the next start",
            Self::Cron => "within an hour after the next start",
            Self::Launchd => "when the machine wakes up, or at the next login",
            Self::Windows => "as soon as the machine runs",
        }
    }
}

/// Returns the schedules that there are, or the one of a system.
pub(super) fn installed(by: Option<System>) -> Result<Vec<Installed>> {
    if let Some(by) = by {
        return Ok(by.installed()?.into_iter().collect());
    }
    let usual: &[System] = match () {
        () if cfg!(windows) => &[System::Windows],
        () if cfg!(target_os = "macos") => &[System::Launchd],
        () => &[System::Systemd, System::Cron],
    };
    // A scheduler that cannot be asked, such as a cron that refuses this user, runs nothing.
    Ok(usual.iter().filter_map(|system| system.installed().ok().flatten()).collect())
}

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
