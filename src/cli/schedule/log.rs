//! The log of the nightly runs: a line for each.

use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat};

use super::super::when::Clock;
use crate::Result;
use crate::lake::fs;
use crate::shown::visible;

/// Size from which old lines are dropped, and size that stays. Bytes.
const MOST: usize = 128 << 10;
const KEPT: usize = 64 << 10;

/// A file with a line for each run.
pub(super) struct Log {
    path: PathBuf,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// End of the run. Microseconds since 1970.
    pub(super) ended_at: i64,
    /// Exit code.
    pub(super) code: u8,
    /// Its result, or the reason why it failed.
    pub(super) text: String,
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let (moment, rest) = line.split_once(' ')?;
        let (code, text) = rest.split_once(' ')?;
        let ended_at = DateTime::parse_from_rfc3339(moment).ok()?.timestamp_micros();
        Some(Self { ended_at, code: code.parse().ok()?, text: text.to_owned() })
    }

    pub(super) fn is_good(&self) -> bool {
        self.code == 0
    }
}

impl Log {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the runs, the oldest first. A damaged line is left out.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let bytes = fs::read(&self.path)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Entry::parse).collect())
    }

    /// Adds a run that ends now.
    pub(super) fn add(&self, clock: &Clock, code: u8, text: &str) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::make_folder(folder)?;
        }
        self.shorten()?;
        let now = clock.now.with_timezone(&clock.zone).to_rfc3339_opts(SecondsFormat::Secs, true);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        fs::append_line(&self.path, format!("{now} {code} {}\n", visible(&text)).as_bytes())
    }

    /// Drops the oldest lines of a long log.
    fn shorten(&self) -> Result<()> {
        let Some(bytes) = fs::read(&self.path)?.filter(|bytes| bytes.len() > MOST) else { return Ok(()) };
        let rest = bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default();
        let start = rest.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let next = self.path.with_extension("log.next");
        fs::write(&next, rest.get(start..).unwrap_or_default())?;
        fs::rename(&next, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock { now: "2026-07-17T01:00:05Z".parse().unwrap(), zone: chrono_tz::Europe::Berlin }
    }

    #[test]
    fn a_run_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new(folder.path().join("a/schedule.log"));
        assert_eq!(log.entries().unwrap(), []);
        log.add(&clock(), 0, "Nothing new:\n98 files\u{1b}[31m").unwrap();
        log.add(&clock(), 11, "etl: another etl").unwrap();
        let text = String::from_utf8(fs::read(log.path()).unwrap().unwrap()).unwrap();
        assert_eq!(
            text,
            "2026-07-17T03:00:05+02:00 0 Nothing new: 98 files\\u{1b}[31m\n2026-07-17T03:00:05+02:00 11 etl: another etl\n"
        );
        fs::write(log.path(), format!("{text}torn line\n2026-07").as_bytes()).unwrap();
        let entries = log.entries().unwrap();
        assert_eq!(entries.iter().map(|entry| entry.code).collect::<Vec<_>>(), [0, 11]);
        assert_eq!(entries[0].ended_at, clock().now.timestamp_micros());
    }

    #[test]
    fn a_long_log_loses_its_oldest_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new(folder.path().join("schedule.log"));
        let line = "2026-07-17T03:00:05+02:00 0 Nothing new: 98 files unchanged (0.05 s).\n";
        fs::write(log.path(), line.repeat(2_000).as_bytes()).unwrap();
        log.add(&clock(), 1, "the newest").unwrap();
        let entries = log.entries().unwrap();
        assert!((800..1_000).contains(&entries.len()), "{}", entries.len());
        assert_eq!(entries.last().unwrap().text, "the newest");
    }
}
