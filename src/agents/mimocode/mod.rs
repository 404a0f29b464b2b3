//! MiMo Code, Xiaomi's fork of OpenCode 1.x. It copies the sessions of other agents into its database.

use std::path::{Path, PathBuf};

use super::opencode::{self, Program};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The agent.
pub struct MimoCode;

static ABOUT: About = About {
    id: "mimocode",
    title: "MiMo Code",
    paths: &["~/.local/share/mimocode/mimocode*.db"],
    environment: &["MIMOCODE_HOME", "MIMOCODE_DB", "XDG_DATA_HOME"],
    versions: "2026, by its source",
    rests_on: RestsOn::Source,
    records: Records::EXACT,
    parser_version: 2,
    streams: &[opencode::SESSION, opencode::FIRST_SESSION, opencode::STRAY],
    sectioned: &[opencode::DATABASE],
    began: &["created"],
    dates_replies_by_beginning: true,
    ..About::NEW
};

static PROGRAM: Program =
    Program { name: "mimocode", folder_variable: Some("MIMOCODE_HOME"), database_variable: "MIMOCODE_DB" };

impl Agent for MimoCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        opencode::discover(&PROGRAM, places, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        opencode::claims(&PROGRAM, path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        opencode::companions(&PROGRAM, path)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        opencode::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        opencode::extract(source, out)
    }
}
