//! The schedulers of the systems, and what each does.

use std::path::PathBuf;

use chrono::NaiveDate;

use super::super::args::System;
use super::installed::Installed;
use super::job::Job;
use super::{cron, launchd, systemd, windows};
use crate::{Error, Result};

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
