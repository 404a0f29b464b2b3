//! The job of a scheduler: command, variables and time.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono::{Days, NaiveDate, NaiveTime};
use chrono_tz::Tz;

use super::super::args::Schedule;
use super::super::settings::Settings;
use super::super::when::Clock;
use super::absolute;
use crate::agents::AGENTS;
use crate::environment;
use crate::time::in_zone;
use crate::{Error, Result};

/// A time of the day, in the system's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay(NaiveTime);

/// Days from today on which the last or the next time is. Clocks that are set may move it by a day.
const NEAR: [u64; 3] = [0, 1, 2];

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = NaiveTime::parse_from_str(text, "%H:%M");
        time.map(Self).map_err(|_| "write a time of the day, such as 03:00 or 22:30".to_owned())
    }
}

impl Display for TimeOfDay {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.format("%H:%M").fmt(formatter)
    }
}

impl Default for TimeOfDay {
    fn default() -> Self {
        Self(NaiveTime::from_hms_opt(3, 0, 0).unwrap_or_default())
    }
}

impl TimeOfDay {
    pub(super) fn hour(self) -> String {
        self.0.format("%-H").to_string()
    }

    pub(super) fn minute(self) -> String {
        self.0.format("%-M").to_string()
    }

    /// Returns when it is the next time. Microseconds since 1970.
    pub(in crate::cli) fn next(self, clock: &Clock) -> Option<i64> {
        let days = NEAR.into_iter().filter_map(|days| clock.today().checked_add_days(Days::new(days)));
        days.filter_map(|day| self.on(day, clock.zone)).find(|moment| *moment > clock.now.timestamp_micros())
    }

    /// Returns when it was the last time. Microseconds since 1970.
    pub(super) fn last(self, clock: &Clock) -> Option<i64> {
        let days = NEAR.into_iter().filter_map(|days| clock.today().checked_sub_days(Days::new(days)));
        days.filter_map(|day| self.on(day, clock.zone)).find(|moment| *moment <= clock.now.timestamp_micros())
    }

    fn on(self, day: NaiveDate, zone: Tz) -> Option<i64> {
        Some(in_zone(day.and_time(self.0), zone)?.timestamp_micros())
    }
}

/// Variables of llrem that change what a run stores. Others have an option in the command.
const OWN: [&str; 5] =
    [environment::MACHINE, environment::REDACT, environment::CONTENT, environment::JOBS, environment::PROFILE];
/// Variables that move folders. A job without them would read other ones than the person does.
const FOLDERS: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
/// A variable that Windows sets for every program.
const GIVEN: &str = "APPDATA";

/// The job of a scheduler.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The program.
    pub(super) program: String,
    /// Its arguments.
    arguments: Vec<String>,
    /// Variables that are set here and that a scheduler does not know.
    pub(super) environment: Vec<(String, String)>,
    pub(super) at: TimeOfDay,
    pub(super) uploads: bool,
}

impl Job {
    /// Returns the job that was asked for.
    pub(super) fn of(settings: &Settings, typed: &Schedule) -> Result<Self> {
        let mut arguments = settings.repeated()?;
        arguments.extend(["schedule", "run"].map(str::to_owned));
        if let Some(url) = &typed.upload {
            arguments.extend(["--upload".to_owned(), url.clone()]);
        }
        if let Some(path) = &typed.report {
            arguments.extend(["--report".to_owned(), text_of(&absolute(path)?)?]);
        }
        let job = Self {
            program: text_of(&program()?)?,
            arguments,
            environment: environment(),
            at: typed.at.unwrap_or_default(),
            uploads: typed.upload.is_some(),
        };
        job.refuse_control_characters()?;
        Ok(job)
    }

    /// Returns the arguments.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the whole command for a scheduler that starts it more often than once a day: it ends at once if there was
    /// a run since the last time that it was due. Only a failure prints something.
    pub(super) fn words_if_due(&self) -> Vec<String> {
        let (program, quiet) = (self.program.clone(), "--quiet".to_owned());
        let due = ["--due".to_owned(), self.at.to_string()];
        [program, quiet].into_iter().chain(self.arguments.iter().cloned()).chain(due).collect()
    }

    /// A line break would begin a new setting in the file of a scheduler.
    fn refuse_control_characters(&self) -> Result<()> {
        let values = self.environment.iter().map(|(_, value)| value);
        let texts = self.arguments.iter().chain(values).chain([&self.program]);
        match texts.into_iter().find(|text| text.chars().any(char::is_control)) {
            Some(text) => Err(Error::Usage(format!("`{}` cannot be in a schedule", crate::shown::visible(text)))),
            None => Ok(()),
        }
    }
}

fn environment() -> Vec<(String, String)> {
    let agents = AGENTS.iter().flat_map(|agent| agent.about().environment.iter().copied());
    let mut names: Vec<&str> = agents.chain(OWN).chain(FOLDERS).filter(|name| *name != GIVEN).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name.to_owned(), environment::value(name)?))).collect()
}

/// Returns the path by which the person calls the program: a package manager may move the file behind it with each
/// version.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(Error::io("find", Path::new("llrem")))?;
    let is_own = |path: &PathBuf| path.is_absolute() && path.canonicalize().ok() == own.canonicalize().ok();
    let folders = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let name = own.file_name().unwrap_or_default();
    let called = folders.into_iter().flatten().map(|folder| folder.join(name)).find(is_own);
    Ok(called.unwrap_or(own))
}

fn text_of(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::Usage(format!("`{}` is not UTF-8, so it cannot be in a schedule", path.display())))
}

#[cfg(test)]
pub(super) fn example() -> Job {
    Job {
        program: "/opt/my tools/llrem".to_owned(),
        arguments: ["--lake", "/home/ada/50% \"lake\"", "schedule", "run", "--upload", "s3://b/$x?a=1&b=2"]
            .map(str::to_owned)
            .to_vec(),
        environment: vec![("CODEX_HOME".to_owned(), "/home/ada/a <b> & 'c' $d %h".to_owned())],
        at: "03:05".parse().unwrap_or_default(),
        uploads: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(now: &str) -> Clock {
        Clock { now: now.parse().unwrap(), zone: chrono_tz::Europe::Berlin }
    }

    fn moments(at: &str, now: &str) -> [String; 2] {
        let (at, clock): (TimeOfDay, _) = (at.parse().unwrap(), clock(now));
        [at.last(&clock).unwrap(), at.next(&clock).unwrap()]
            .map(|moment| crate::time::format_utc(Some(moment), "%Y-%m-%dT%H:%MZ"))
    }

    #[test]
    fn a_time_of_the_day_was_and_will_be() {
        assert_eq!(moments("03:00", "2026-07-17T12:02:00Z"), ["2026-07-17T01:00Z", "2026-07-18T01:00Z"]);
        assert_eq!(moments("23:30", "2026-07-17T12:02:00Z"), ["2026-07-16T21:30Z", "2026-07-17T21:30Z"]);
        assert_eq!(moments("03:00", "2026-07-17T01:00:00Z"), ["2026-07-17T01:00Z", "2026-07-18T01:00Z"]);
        assert_eq!(moments("02:30", "2026-03-29T06:00:00Z"), ["2026-03-29T01:30Z", "2026-03-30T00:30Z"], "skipped");
    }

    #[test]
    fn other_texts_are_no_time_of_the_day() {
        for text in ["", "3", "24:00", "03:60", "3 am", "03:00:00"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
        assert_eq!("7:05".parse::<TimeOfDay>().unwrap().to_string(), "07:05");
    }

    #[test]
    fn a_line_break_is_refused() {
        let job = Job { arguments: vec!["a\nExecStart=/bin/sh".to_owned()], ..example() };
        assert!(job.refuse_control_characters().is_err());
        assert!(example().refuse_control_characters().is_ok());
    }
}
