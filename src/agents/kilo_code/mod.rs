//! Kilo Code: until 5 an extension, the fork of Roo Code; from 7 on a fork of OpenCode.

use std::path::{Path, PathBuf};

use super::cline;
use super::opencode::{self, Program};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The agent.
pub struct KiloCode;

static ABOUT: About = About {
    id: "kilo-code",
    title: "Kilo Code",
    paths: &[
        "~/.config/*/User/globalStorage/kilocode.kilo-code",
        "~/.local/share/kilo/kilo*.db",
        "~/.local/share/kilo/storage",
    ],
    environment: &["KILO_DB", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "APPDATA"],
    versions: "2025-03 to 5, CLI 7.7.9",
    rests_on: RestsOn::Source,
    records: Records { durations: Grain::Exact, ..cline::RECORDS },
    parser_version: 8,
    streams: &[cline::TASK, opencode::SESSION, opencode::FIRST_SESSION, opencode::STRAY],
    sectioned: &[opencode::DATABASE],
    began: &["ts", "created"],
    dates_replies_by_beginning: true,
    ..About::NEW
};

static PROGRAM: Program = Program { name: "kilo", folder_variable: None, database_variable: "KILO_DB" };

/// Returns true if a source is one of the extension's.
fn is_extensions(kind: &str) -> bool {
    matches!(kind, cline::TASK | cline::INDEX)
}

impl Agent for KiloCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        cline::discover(&cline::KILO_CODE, places, found);
        opencode::discover(&PROGRAM, places, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        cline::claims(&cline::KILO_CODE, path).or_else(|| opencode::claims(&PROGRAM, path))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        if opencode::claims(&PROGRAM, path).is_some() {
            opencode::companions(&PROGRAM, path)
        } else {
            cline::companions(path)
        }
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        opencode::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if is_extensions(source.kind) {
            cline::extract(&cline::KILO_CODE, source, out)
        } else {
            opencode::extract(source, out)
        }
    }
}
