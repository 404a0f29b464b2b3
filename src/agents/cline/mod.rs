//! Cline: its tasks from 2024 on, the sessions of its SDK, and the code that Roo Code and Kilo Code share.

mod align;
mod billing;
mod chatter;
mod companion;
mod content;
mod dialect;
mod history;
mod index;
mod items;
mod keys;
mod metrics;
mod places;
mod record;
mod rows;
mod sdk;
mod split;
mod survey;
mod task;
mod timeline;
mod tools;
mod xml;

use std::path::{Path, PathBuf};

use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;
use dialect::{CLINE, Dialect, FORK_OF_ROO};

pub(super) use dialect::{KILO_CODE, ROO_CODE};
pub(super) use places::{claims, companions, discover};

/// Kinds of sources.
pub(super) const TASK: &str = "transcript";
const SESSION: &str = "session";
const SUBAGENT: &str = "subagent";
pub(super) const INDEX: &str = "prompts";

/// The agent.
pub struct Cline;

/// Facts that the extensions record.
pub(super) const RECORDS: Records = Records { durations: Grain::Absent, ..Records::EXACT };

static ABOUT: About = About {
    id: "cline",
    title: "Cline",
    paths: &[
        "~/.config/*/User/globalStorage/saoudrizwan.claude-dev",
        "~/.config/*/User/globalStorage/<other extension>/tasks",
        "~/.cline/data",
    ],
    environment: &["CLINE_DATA_DIR", "CLINE_DIR", "CLINE_SESSION_DATA_DIR", "XDG_CONFIG_HOME", "APPDATA"],
    versions: "2024-07 to 4.1, CLI up to 3.0.65",
    rests_on: RestsOn::Sessions,
    records: RECORDS,
    parser_version: 7,
    streams: &[TASK, SESSION, SUBAGENT],
    began: &["ts"],
    ..About::NEW
};

impl Agent for Cline {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        discover(&CLINE, places, found);
        places::discover_forks(places, found);
        let of_folder = || places.environment("CLINE_DIR").map(|folder| format!("{folder}/data"));
        if let Some(data) = places.environment("CLINE_DATA_DIR").or_else(of_folder) {
            places::add_storage(Path::new(&data), found);
        }
        if let Some(sessions) = places.environment("CLINE_SESSION_DATA_DIR") {
            places::add_sessions(Path::new(&sessions), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        claims(&CLINE, path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        companions(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let dialect = if places::is_of_roos_kind(source.path) { &FORK_OF_ROO } else { &CLINE };
        extract(dialect, source, out)
    }
}

/// Reads one source.
pub(super) fn extract(dialect: &'static Dialect, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    match source.kind {
        INDEX => index::extract(dialect, source, out),
        SESSION | SUBAGENT => sdk::extract(dialect, source, out),
        _ => task::extract(dialect, source, out),
    }
}
