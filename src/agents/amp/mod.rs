//! Amp: the threads that it kept on disk until 2026-04. Newer ones are only on its server.

mod ledger;
mod record;
mod thread;
mod tools;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct Amp;

static ABOUT: About = About {
    id: "amp",
    title: "Amp",
    paths: &["~/.local/share/amp/threads"],
    environment: &["AMP_DATA_DIR", "XDG_DATA_HOME"],
    versions: "2025-05 to 2026-03",
    rests_on: RestsOn::OtherTools,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    began: &["created"],
    ..About::NEW
};

/// The kind of sources.
const THREAD: &str = "thread";

impl Agent for Amp {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let data = places.environment("AMP_DATA_DIR").map(PathBuf::from);
        let data = data.unwrap_or_else(|| places.folder("XDG_DATA_HOME", ".local/share").join("amp"));
        add_files(&data.join("threads"), 0, &|entry: &Entry| self.takes(Path::new(entry.name()?)), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        self.takes(path).filter(|_| path.parent().is_some_and(|folder| folder.ends_with("threads")))
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        (name.starts_with("T-") && path.extension()? == "json").then_some(THREAD)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        thread::extract(source, out)
    }
}
