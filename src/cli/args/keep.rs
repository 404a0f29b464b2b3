//! Options of the commands that keep a lake current and whole, and copy it.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::super::time_of_day::TimeOfDay;
use crate::environment;

/// `llrem upload`
#[derive(Debug, Args)]
pub struct Upload {
    /// Destination: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER
    #[arg(value_hint = ValueHint::Url)]
    pub url: String,
    /// Profile of the uploaded data [default: redacted]
    #[arg(long, value_enum, value_name = "PROFILE", env = environment::PROFILE, hide_env_values = true)]
    pub profile: Option<Profile>,
    /// List what would be uploaded and deleted, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Upload every file again, and delete files at the destination that are not in the lake
    #[arg(long)]
    pub full: bool,
    /// Replace what another lake, or a copy of this one, uploaded under this machine's name
    #[arg(long)]
    pub replace: bool,
}

/// `llrem verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// Also read every row
    #[arg(long)]
    pub read_data: bool,
}

/// `llrem schedule`
#[derive(Debug, Args)]
pub struct Schedule {
    /// Action
    #[arg(value_enum)]
    pub action: ScheduleAction,
    /// Time of the day, in the system's time zone [default: 03:00]
    #[arg(long, value_name = "HH:MM")]
    pub at: Option<TimeOfDay>,
    /// Upload the lake to URL after each run
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub upload: Option<String>,
    /// Write the report page into FILE after each run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// The scheduler [default: the one of this machine]
    #[arg(long, value_enum, value_name = "SCHEDULER")]
    pub by: Option<System>,
    /// Run nothing if a run succeeded since this time of the day. Schedulers that start the job more often than once a
    /// day say so.
    #[arg(long, value_name = "HH:MM", hide = true)]
    pub due: Option<TimeOfDay>,
}

/// An action on the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleAction {
    /// Run etl every night from now on
    Install,
    /// Show when it runs, and how it went
    Status,
    /// Run it no longer
    Remove,
    /// Print what `install` would write
    Print,
    /// Run it now, as the scheduler does
    Run,
}

impl ScheduleAction {
    /// Returns its name.
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Status => "status",
            Self::Remove => "remove",
            Self::Print => "print",
            Self::Run => "run",
        }
    }
}

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

/// `llrem status`
#[derive(Debug, Args)]
pub struct Status {
    /// Print one short line, for a status line
    #[arg(long)]
    pub line: bool,
}

/// Profile of the data that `upload` sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Everything, as it is in the lake
    Full,
    /// Texts without secrets, e-mail and IP addresses and user names
    Redacted,
    /// No texts; paths, branches and repositories as keyed hashes
    Metrics,
}
